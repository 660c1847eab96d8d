import {
  type Attestation,
  type Completion,
  type RemoteDelegate,
  type RemotePlacement,
  taskLabel,
  type WithdrawalReason
} from '@svc/contracts'
import type { Agent } from './agent.ts'
import type { StateChanges } from './changes.ts'
import { complete, fail, requeue } from './endings.ts'
import { MAX_PLACEMENT_DETAIL } from './limits.ts'
import type { GateEvidence } from './ports.ts'
import { extraFields, type Task, type TaskExtra } from './task.ts'
import type { World } from './world.ts'

/** Work of a delegate that is no longer wanted; its placer is notified once the change is durable. */
export interface Withdrawal {
  readonly task: number
  readonly delegate: RemoteDelegate
  readonly why: WithdrawalReason
}

/** Result of a task that another machine has completed. */
export interface RemoteResult {
  readonly attestation: Attestation
  readonly evidence: GateEvidence | null
  /** Node that executed the task, if known. */
  readonly node: string | undefined
}

/** Fields of a held task. */
type PlacingFields = TaskExtra & { remote: RemoteDelegate }

/** Returns the delegate of a new hold; its key is not used again. */
export function newDelegate(task: number, placer: string, now: number): RemoteDelegate {
  return { idempotency_key: `orch-remote-${task}-${now}`, placer, confirmed: false }
}

/** Returns the task if it is held with this key; null if the key is stale. */
export function heldWith(world: World, id: number, key: string): Task | null {
  const task = world.holds.get(id)
  return task?.extra?.remote?.idempotency_key === key ? task : null
}

/** Returns a held task of an agent; null if it has none. */
export function heldTaskOf(world: World, agent: Agent): Task | null {
  if (world.holds.size === 0) return null
  for (const task of agent.working) if (world.holds.has(task.id)) return task
  return null
}

/**
 * Confirms a hold once its task was placed. If the hold has ended meanwhile, the placed work is withdrawn. Returns false
 * then.
 */
export function confirmHold(
  world: World,
  changes: StateChanges,
  id: number,
  begun: RemoteDelegate,
  placement: RemotePlacement
): boolean {
  const delegate = { ...begun, ...placement, confirmed: true }
  const task = heldWith(world, id, begun.idempotency_key)
  if (task === null) {
    const ended = world.tasks.get(id)?.extra?.remote
    // The remote result was faster than the confirmation.
    if (ended?.idempotency_key === begun.idempotency_key) {
      extraFields(world.task(id)).remote = { ...delegate, ...ended }
      changes.touch('task', id)
    }
    changes.withdraw({ task: id, delegate, why: 'moved' })
    return false
  }
  const extra = extraFields(task)
  extra.remote = delegate
  task.placement = 'mesh_remote_lease_hold'
  changes.touch('task', id)
  const { lease_id, mesh_node_id, claimer_node_id } = placement
  const on = mesh_node_id === undefined ? '' : ` on ${mesh_node_id}`
  const lease = lease_id === undefined ? '' : `, lease ${lease_id}`
  world.traces.note(id, 'mesh_remote_held', `placed by ${begun.placer}${on}${lease}`, world.deps.now())
  const ids = { task_id: id, agent_id: task.agent }
  const nodes = {
    ...(lease_id === undefined ? null : { lease_id }),
    ...(mesh_node_id === undefined ? null : { mesh_node_id }),
    ...(claimer_node_id === undefined ? null : { claimer_node_id })
  }
  const session = extra.session_id === undefined ? null : { session_id: extra.session_id }
  changes.event({ type: 'task_placed', ...ids, placement_reason: task.placement, ...nodes })
  changes.event({ type: 'task_started', ...ids, ...session })
  changes.lineage.push({
    kind: 'task_delegated',
    ...ids,
    ...session,
    payload: { reason: task.placement, placer: begun.placer, ...nodes }
  })
  return true
}

/** Records the node that has begun a held task. False if the key is stale. */
export function acceptHeld(world: World, changes: StateChanges, id: number, key: string, node: string): boolean {
  const task = heldWith(world, id, key)
  if (task === null) return false
  const extra = extraFields(task) as PlacingFields
  if (extra.remote.mesh_node_id === node) return true
  extra.remote = { ...extra.remote, mesh_node_id: node }
  changes.touch('task', id)
  world.traces.note(id, 'mesh_remote_accepted', `begun by ${node}`, world.deps.now())
  return true
}

/**
 * Ends a hold: the task is queued locally, with its counters reset. The placer is not notified, since it has withdrawn
 * its work or never placed it.
 */
export function fallBack(
  world: World,
  changes: StateChanges,
  id: number,
  key: string,
  reason: string
): 'queued' | 'stale' {
  const task = heldWith(world, id, key)
  if (task === null) return 'stale'
  queueLocally(world, changes, task, reason)
  return 'queued'
}

function queueLocally(world: World, changes: StateChanges, task: Task, reason: string): void {
  world.holds.delete(task.id)
  const extra = extraFields(task)
  for (const counter of ['debug_iterations', 'stubcheck_iterations', 'qgate_iterations'] as const) delete extra[counter]
  requeue(world, changes, task, reason)
  markFallback(task, reason)
  world.traces.note(task.id, 'fell_back', reason, world.deps.now())
  changes.event({
    type: 'task_placed',
    task_id: task.id,
    agent_id: task.agent,
    placement_reason: task.placement,
    reason: extra.placement_detail ?? reason
  })
}

/** Records that a task is queued locally since it could not be, or no longer is, on another machine. */
export function markFallback(task: Task, reason: string): void {
  task.placement = 'local_queue_fallback_after_remote_relay_error'
  const extra = extraFields(task)
  extra.remote = undefined
  extra.placement_detail = reason.slice(0, MAX_PLACEMENT_DETAIL)
}

/** Queues the tasks locally that have been held for too long, and withdraws their work. Also renews their locks. */
export function watchHolds(world: World, changes: StateChanges): void {
  if (world.holds.size === 0) return
  const now = world.deps.now()
  const { mesh_remote_lease_timeout_ms: limit } = world.deps.settings()
  for (const task of [...world.holds.values()]) {
    const age = now - task.startedAt
    if (age <= limit) {
      for (const { path } of task.files) world.locks.renew(path, task.agent, now)
      continue
    }
    const { remote: delegate } = extraFields(task) as PlacingFields
    queueLocally(world, changes, task, `no result within ${Math.round(limit / 1_000)} s`)
    changes.withdraw({ task: task.id, delegate, why: 'expired' })
    changes.event({ type: 'task_expired', task_id: task.id, agent_id: task.agent, age_ms: age })
  }
}

/**
 * Completes a held task with a remote result; a gate may send it back to its local queue. Null if the key is stale.
 * Throws the error of a gate that rejects the completion; the task then stays held.
 */
export function completeHeld(
  world: World,
  changes: StateChanges,
  id: number,
  key: string,
  { attestation, evidence, node }: RemoteResult
): Completion | null {
  const task = heldWith(world, id, key)
  if (task === null) return null
  // The placer has sent this result itself, so no withdrawal is needed.
  world.holds.delete(id)
  let completion: Completion
  try {
    completion = complete(world, changes, id, attestation, evidence)
  } catch (error) {
    world.holds.set(id, task)
    throw error
  }
  const { requeued } = completion
  if (requeued === undefined) markExecuted(task, node)
  else {
    task.placement = 'local_queue_default'
    const detail = `the gate ${requeued.gate} sent the remote result back`
    extraFields(task).placement_detail = detail.slice(0, MAX_PLACEMENT_DETAIL)
  }
  return completion
}

/** Fails a held task with a remote error. False if the key is stale. */
export function failHeld(
  world: World,
  changes: StateChanges,
  id: number,
  key: string,
  error: string,
  node: string | undefined
): boolean {
  const task = heldWith(world, id, key)
  if (task === null) return false
  world.holds.delete(id)
  fail(world, changes, id, error)
  markExecuted(task, node)
  return true
}

/** Records that the result of a node was used, even if its hold was not confirmed yet. */
function markExecuted(task: Task, node: string | undefined): void {
  const extra = extraFields(task) as PlacingFields
  extra.remote = { ...extra.remote, confirmed: true, ...(node === undefined ? null : { mesh_node_id: node }) }
  task.placement = 'mesh_remote_lease_hold'
}

/** Describes a hold in a message: `T-0012, which runs on node-a`. */
export function describeHold(task: Task): string {
  const node = task.extra?.remote?.mesh_node_id ?? 'another machine'
  return `${taskLabel(task.id)}, which runs on ${node}`
}
