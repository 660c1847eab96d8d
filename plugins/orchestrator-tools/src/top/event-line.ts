import { type AgentEventKind, agentLabel, taskLabel } from '@svc/contracts'

/** Fields that identify an event's subject, printed first. */
const IDS: Readonly<Record<string, (id: number) => string>> = { task_id: taskLabel, agent_id: agentLabel }

/** Formats an event as one line: its type, its task or agent, and its other fields. */
export function eventLine({ type, ...fields }: AgentEventKind): string {
  const entries = Object.entries(fields as Readonly<Record<string, unknown>>)
  const subjects = entries.flatMap(([name, value]) =>
    typeof value === 'number' && name in IDS ? [IDS[name]?.(value) ?? ''] : []
  )
  const rest = entries.flatMap(([name, value]) => (name in IDS || value === undefined ? [] : [shown(value)]))
  return [type, ...subjects, ...rest].join('  ')
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
