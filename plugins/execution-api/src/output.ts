import type { OutputConstraint } from '@svc/contracts'
import type { CompletionRequest, OutputMode } from './request.ts'

/** Returns the constraint that an output mode sets; undefined without one. */
export function constraintOf({ output_mode: mode, schema }: CompletionRequest): OutputConstraint | undefined {
  if (mode === undefined) return undefined
  // Records are generated as one array, because the end of a record would otherwise be ambiguous.
  if (mode === 'jsonl_records')
    return {
      type: 'json-schema',
      schema: { type: 'array', items: schema ?? { type: 'object' }, minItems: 1 }
    }
  return schema === undefined ? { type: 'json-object' } : { type: 'json-schema', schema }
}

/** Returns complete output in the form of a mode; null if it was cut off. */
export function formed(mode: OutputMode, text: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (mode === 'jsonl_records')
    return Array.isArray(value) ? value.map(record => `${JSON.stringify(record)}\n`).join('') : null
  return text
}
