import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface EventFields {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const source = join(import.meta.dirname, '../../../contracts/src/orchestration/events.ts')

/** Types of agent events with their field names, read from the contract's source. */
export function declaredEvents(): Map<string, EventFields> {
  const text = readFileSync(source, 'utf8')
  const shared = /interface HandoffFacts \{(.*?)\n\}/s.exec(text)?.[1] ?? ''
  const union = text.slice(text.indexOf('export type AgentEventKind'))
  const events = new Map<string, EventFields>()
  // One member of the union: up to the next line that starts with a bar, indented by two spaces.
  for (const part of union.split(/\n {2}\| /).slice(1)) {
    const types = /readonly type:((?:\s*\|?\s*'\w+')+)/.exec(part)?.[1] ?? ''
    const fields = part.includes('& HandoffFacts') ? `${part}\n${shared}` : part
    const named = [...fields.matchAll(/readonly (\w+)(\??):/g)].filter(([, name]) => name !== 'type')
    const names = (mark: string): string[] =>
      named.filter(([, , optional]) => optional === mark).map(([, name = '']) => name)
    for (const [, type = ''] of types.matchAll(/'(\w+)'/g))
      events.set(type, { required: names('').sort(), optional: names('?').sort() })
  }
  return events
}
