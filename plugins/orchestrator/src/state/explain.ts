import { agentLabel, type TaskExplanation } from '@svc/contracts'
import { SHOWN_CANDIDATES } from './limits.ts'
import { NO_REASONS } from './reasons.ts'
import { routeAgain } from './task-request.ts'
import type { World } from './world.ts'

/** Returns the routing reasons, gate results and history of a task; null if the task is unknown. */
export function explain(world: World, id: number): TaskExplanation | null {
  const task = world.tasks.get(id)
  if (task === undefined) return null
  const reasons = task.reasons ?? NO_REASONS
  const isQueued = task.status.kind === 'Queued' || task.status.kind === 'Blocked'
  return {
    task_id: id,
    routing: {
      agent_id: task.agent,
      rule: task.rule,
      candidates: isQueued ? world.router.explain(routeAgain(task), SHOWN_CANDIDATES) : reasons.candidates,
      placement_reason: `${task.placement}: ${agentLabel(task.agent)} by ${task.rule}`
    },
    test_decision: world.deps.judge.test({
      description: task.description,
      files: task.files,
      complexity: task.complexity,
      qgate: task.extra?.qgate
    }),
    gates: reasons.gates,
    trace: [...(world.traces.read(id)?.stages ?? [])]
  }
}
