import type { AgentEvent, RewardEvent } from '@svc/contracts'

/** Events that also go to the reward component. The resolution agent sends `task_resolved`, with its report. */
const REWARDED: ReadonlySet<string> = new Set([
  'agent_spawned',
  'agent_retired',
  'agent_idle',
  'agent_busy',
  'task_submitted',
  'task_started',
  'task_completed',
  'task_failed',
  'task_doubted',
  'snapshot_captured',
  'plan_handoff',
  'agent_handoff_accepted',
  'message_sent',
  'lock_acquired',
  'lock_released',
  'continuation_triggered',
  'cost_incurred',
  'scope_violation'
])

/** Fields that are ids or numbers. Texts of tasks and messages stay in the orchestrator. */
const FIELDS = ['agent_id', 'task_id', 'session_id', 'from', 'to', 'input_tokens', 'output_tokens', 'cost_usd'] as const

/** Returns the event for the reward component; null for events that it does not count. */
export function toReward(repository: string, { id, timestamp_ms, kind }: AgentEvent): RewardEvent | null {
  if (!REWARDED.has(kind.type)) return null
  const facts = kind as unknown as Readonly<Record<string, unknown>>
  const known = FIELDS.flatMap(field => (facts[field] === undefined ? [] : [[field, facts[field]] as const]))
  return {
    type: kind.type,
    ...Object.fromEntries(known),
    // Ids count from 1 in each process, so that only the time makes them unique.
    ludus_dedupe_id: `${kind.type}:${repository}:${timestamp_ms}:${id}`
  }
}
