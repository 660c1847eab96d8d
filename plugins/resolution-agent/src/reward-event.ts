import type { AgentEvent, TaskResolvedEvent } from '@svc/contracts'
import { short } from './doubt-question.ts'

const MAX_REPORT = 60_000

/** Returns the event for the reward component when a doubt was resolved, also without this plugin; null for other events. */
export function toRewardEvent(repository: string, { id, timestamp_ms, kind }: AgentEvent): TaskResolvedEvent | null {
  if (kind.type !== 'task_resolved') return null
  const { task_id, agent_id, validated, report } = kind
  return {
    type: 'task_resolved',
    task_id,
    agent_id,
    validated,
    report: short(report, MAX_REPORT),
    ludus_dedupe_id: `task_resolved:${repository}:${task_id}:${timestamp_ms}:${id}`
  }
}
