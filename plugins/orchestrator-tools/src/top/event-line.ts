import { type AgentEventKind, agentLabel, taskLabel } from '@svc/contracts'

/** Fields that identify an event's subject, printed first. */
const IDS: Readonly<Record<string, (id: number) => string>> = { task_id: taskLabel, agent_id: agentLabel }

/** An event in one line: its type, what it is about, and the rest in short. */
export function eventLine({ type, ...fields }: AgentEventKind): string {
  const entries = Object.entries(fields as Readonly<Record<string, unknown>>)
  const about = entries.flatMap(([name, value]) =>
    typeof value === 'number' && name in IDS ? [IDS[name]?.(value) ?? ''] : []
  )
  const rest = entries.flatMap(([name, value]) => (name in IDS || value === undefined ? [] : [shown(value)]))
  return [type, ...about, ...rest].join('  ')
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
