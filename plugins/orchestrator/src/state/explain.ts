import { agentLabel, type PlacementExplanation, type PlacementReason, type TaskExplanation } from '@svc/contracts'
import { SHOWN_CANDIDATES } from './limits.ts'
import { NO_REASONS } from './reasons.ts'
import type { Task } from './task.ts'
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
    placement: placementOf(world, task),
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

function placementOf(world: World, task: Task): PlacementExplanation {
  const { placement: reason, extra } = task
  const { remote, placement_detail } = extra ?? {}
  if (remote === undefined) {
    return { surface: 'local', reason, because: sentence(localReason(reason, placement_detail)) }
  }
  const node = remote.mesh_node_id ?? 'another machine'
  const lease = remote.lease_id === undefined ? '' : ` with lease ${remote.lease_id}`
  const verb = world.holds.has(task.id) ? 'runs' : 'ran'
  const because = remote.confirmed
    ? `the task ${verb} on ${node}${lease}, placed by ${remote.placer}`
    : `${remote.placer} is placing the task on another machine`
  return { surface: 'remote', reason, because: sentence(because), delegate: remote }
}

function localReason(reason: PlacementReason, detail: string | undefined): string {
  if (detail === undefined) return 'no plugin asked to place the task on another machine'
  return reason === 'local_queue_fallback_after_remote_relay_error'
    ? `another machine did not do the task: ${detail}`
    : detail
}

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}${/[.!?]$/.test(clause) ? '' : '.'}`
}
