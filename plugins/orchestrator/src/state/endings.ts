import {
  type Attestation,
  agentLabel,
  type Completion,
  remoteAttestationOf,
  type TaskEnd,
  type TaskStatus,
  taskLabel
} from '@svc/contracts'
import { shardPhaseOf } from '../routing/skill-ledger.ts'
import type { Agent } from './agent.ts'
import type { StateChanges } from './changes.ts'
import { lockToWork, releaseFiles } from './files.ts'
import { KEPT_CANDIDATES, MAX_DESCRIPTION_BYTES, MAX_SUMMARY_CHARS } from './limits.ts'
import type { GateEvidence } from './ports.ts'
import { NO_REASONS, type Reasons } from './reasons.ts'
import { CANCELLED, COMPLETED, hasEnded, IN_PROGRESS, QUEUED, refuseTransition } from './status.ts'
import { countUp, extraFields, queuedAt, type Task, taskView } from './task.ts'
import { routeAgain } from './task-request.ts'
import type { World } from './world.ts'

/** Up to this number of agents, the candidates of a task are recorded when it starts. */
const MAX_EXPLAINED = 64

/** Starts an agent's next task; null if none is runnable, the agent is paused, or it already has one. */
export function next(world: World, changes: StateChanges, id: number): Task | null {
  const agent = world.agent(id)
  if (agent.paused || agent.current !== null || world.stopped !== null) return null
  for (let task = agent.queue.first; task !== undefined; task = agent.queue.first) {
    const path = lockToWork(world, changes, task, agent)
    if (path === null) {
      start(world, changes, task)
      agent.current = task
      return task
    }
    // Park the task, so that others need not wait for it.
    world.park(task, path)
  }
  return null
}

function reasonsOf(task: Task): Reasons {
  task.reasons ??= { ...NO_REASONS }
  return task.reasons
}

function start(world: World, changes: StateChanges, task: Task): void {
  const now = world.deps.now()
  // With many agents this costs too much, since most explanations are never read.
  if (world.agents.size <= MAX_EXPLAINED)
    reasonsOf(task).candidates = world.router.explain(routeAgain(task), KEPT_CANDIDATES)
  world.move(changes, task, IN_PROGRESS)
  task.startedAt = now
  world.traces.note(task.id, 'started', agentLabel(task.agent), now)
  const session_id = task.extra?.session_id
  changes.event({
    type: 'task_started',
    task_id: task.id,
    agent_id: task.agent,
    ...(session_id === undefined ? null : { session_id })
  })
}

/**
 * Returns a task that can be completed or failed: in progress, or queued, since clients without a fleet do not start it
 * first. Throws `ORC_TRANSITION` for other tasks.
 */
export function assertWorkable(world: World, id: number, wanted: string): Task {
  const task = world.task(id)
  const { kind } = task.status
  if (kind !== 'InProgress' && kind !== 'Queued') refuseTransition(id, task.status, wanted)
  return task
}

function startIfQueued(world: World, changes: StateChanges, task: Task): void {
  if (task.status.kind !== 'Queued') return
  const agent = world.agents.get(task.agent) as Agent
  // The work is already done, so a file that another agent has locked meanwhile only counts as contention.
  lockToWork(world, changes, task, agent)
  start(world, changes, task)
}

/**
 * Runs the gates. Completes the task if it passes; otherwise queues it again with a note. Throws `ORC_TRANSITION`, or the
 * error of a gate that rejects the completion; the status then stays the same.
 */
export function complete(
  world: World,
  changes: StateChanges,
  id: number,
  attestation: Attestation | undefined,
  evidence: GateEvidence | null
): Completion {
  const task = assertWorkable(world, id, 'completed')
  const { deps } = world
  const now = deps.now()
  const trust = deps.trust.of(task.agent)
  const outcome = deps.gates.run({ task: taskView(task), attestation, evidence, trust, now })
  reasonsOf(task).gates = outcome.records
  if (outcome.kind === 'refuse') {
    world.traces.note(id, 'gate', `${outcome.gate} rejected the completion: ${outcome.error.message}`, now)
    throw outcome.error
  }
  startIfQueued(world, changes, task)
  if (outcome.kind === 'requeue') {
    const { gate, reason, note, counter } = outcome
    const iteration = countUp(task, counter)
    annotate(task, note)
    requeue(world, changes, task, `the gate ${gate} sent the task back`)
    world.traces.note(id, 'requeued', `${gate}: ${reason}`, now)
    changes.event({ type: 'task_requeued', task_id: id, agent_id: task.agent, gate, reason, iteration })
    return { completed: false, requeued: { gate, reason, iteration } }
  }
  const agent = world.agents.get(task.agent)
  if (agent !== undefined) {
    agent.completed += 1
    changes.touch('agent', agent.id)
  }
  deps.trust.observe(task.agent, true)
  world.rated.add(task.agent)
  changes.touch('trust', task.agent)
  for (const key of deps.budgets.completed(task.agent)) changes.touch('budget', key)
  noteSkills(world, task, null)
  const summary = attestation?.completion_summary
  if (summary !== undefined && (task.extra?.remote_origin !== undefined || task.extra?.keep_summary === true))
    extraFields(task).completion_summary = summary.slice(0, MAX_SUMMARY_CHARS)
  if (attestation !== undefined && task.extra?.remote_origin !== undefined)
    extraFields(task).attestation = remoteAttestationOf(attestation)
  endTask(world, changes, task, COMPLETED, null)
  return { completed: true }
}

/** Updates the router with the outcome of a task. `failure`: why it failed; null if it was completed. */
function noteSkills(world: World, task: Task, failure: string | null): void {
  const success = failure === null
  const skill = task.extra?.active_skill
  if (skill !== undefined) world.router.skillOutcome(task.agent, skill, success)
  const phase = shardPhaseOf(task.description)
  if (phase === null) return
  world.router.skillOutcome(task.agent, phase, success)
  if (success) return
  if (phase === 'shard_validate') world.router.shardOutcome(task.agent, 'shard_validate')
  else if (phase === 'reduce' && /conflict/i.test(failure)) world.router.shardOutcome(task.agent, 'reduce_conflict')
}

/** Moves a task back to its queue. */
export function requeue(world: World, changes: StateChanges, task: Task, because: string): void {
  world.move(changes, task, QUEUED, because)
  task.startedAt = 0
  const extra = extraFields(task)
  extra.queued_at_ms = world.deps.now()
  extra.phase = undefined
  extra.remote = undefined
}

/** Queues a task again that its worker gives up. */
export function release(world: World, changes: StateChanges, id: number, reason: string): void {
  const task = world.task(id)
  if (task.status.kind !== 'InProgress') refuseTransition(id, task.status, 'released')
  requeue(world, changes, task, reason)
  world.traces.note(id, 'released', reason, world.deps.now())
}

/** Appends a note to the description, unless that would exceed the limit. */
function annotate(task: Task, note: string): void {
  const next = `${task.description}${note}`
  if (Buffer.byteLength(next) <= MAX_DESCRIPTION_BYTES) task.description = next
}

export function fail(world: World, changes: StateChanges, id: number, reason: string): void {
  const task = assertWorkable(world, id, 'failed')
  startIfQueued(world, changes, task)
  world.deps.trust.observe(task.agent, false)
  world.rated.add(task.agent)
  changes.touch('trust', task.agent)
  noteSkills(world, task, reason)
  endTask(world, changes, task, { kind: 'Failed', reason }, reason)
}

/** Cancels a task, and the tasks that depend on it, since it never completes. */
export function cancel(world: World, changes: StateChanges, id: number): void {
  const task = world.task(id)
  if (task.status.kind === 'Completed' || task.status.kind === 'Cancelled')
    refuseTransition(id, task.status, 'cancelled')
  endTask(world, changes, task, CANCELLED, null)
}

/**
 * Ends an unfinished task in any state. `reason`: why it failed, was cancelled or expired, or null. If the task is
 * cancelled, the tasks that depend on it are cancelled too, since it never completes.
 */
export function endTask(
  world: World,
  changes: StateChanges,
  task: Task,
  status: TaskStatus,
  reason: string | null,
  outcome?: TaskEnd['outcome']
): void {
  endOne(world, changes, task, status, reason, outcome)
  if (status.kind !== 'Cancelled') return
  const cancelled = [task.id]
  for (let id = cancelled.pop(); id !== undefined; id = cancelled.pop()) {
    for (const dependant of world.taskDependencies.take(id)) {
      const waiting = world.tasks.get(dependant)
      if (waiting === undefined || hasEnded(waiting.status.kind)) continue
      endOne(world, changes, waiting, CANCELLED, `its dependency ${taskLabel(id)} never completes`)
      cancelled.push(dependant)
    }
  }
}

function endOne(
  world: World,
  changes: StateChanges,
  task: Task,
  status: TaskStatus,
  reason: string | null,
  outcome: TaskEnd['outcome'] = OUTCOMES[status.kind as keyof typeof OUTCOMES]
): void {
  const wasFailed = task.status.kind === 'Failed'
  const now = world.deps.now()
  for (const on of task.dependsOn) world.taskDependencies.remove(task.id, on)
  releaseFiles(world, changes, task)
  world.move(changes, task, status, reason ?? outcome)
  task.endedAt = Math.max(now, task.startedAt, task.createdAt)
  if (wasFailed) world.totals.failed -= 1
  world.totals[TOTALS[outcome]] += 1
  changes.touch('meta', 'totals')
  world.traces.note(task.id, 'outcome', reason === null ? outcome : `${outcome}: ${reason}`, now)
  reportEnd(changes, task, outcome, reason, now)
  if (status.kind === 'Completed') unblock(world, changes, task.id)
}

const OUTCOMES = { Completed: 'completed', Failed: 'failed', Cancelled: 'cancelled' } as const
const TOTALS = { completed: 'completed', failed: 'failed', cancelled: 'cancelled', expired: 'cancelled' } as const

function reportEnd(
  changes: StateChanges,
  task: Task,
  outcome: TaskEnd['outcome'],
  reason: string | null,
  now: number
): void {
  const { id: task_id, agent: agent_id, extra } = task
  const ids = { task_id, agent_id }
  const session = extra?.session_id === undefined ? null : { session_id: extra.session_id }
  const audit = extra?.audit_report === undefined ? null : { audit_report: extra.audit_report }
  if (outcome === 'completed') changes.event({ type: 'task_completed', ...ids, ...session, ...audit })
  else if (outcome === 'failed') {
    changes.event({ type: 'task_failed', ...ids, error: reason ?? '', ...session, ...audit })
  } else if (outcome === 'cancelled') changes.event({ type: 'task_cancelled', ...ids })
  else changes.event({ type: 'task_expired', ...ids, age_ms: Math.max(0, now - queuedAt(task)) })
  if (outcome === 'completed' || outcome === 'failed') {
    const layers = outcome === 'completed' ? passedGates(task) : []
    changes.lineage.push({
      kind: outcome === 'completed' ? 'task_completed' : 'task_failed',
      ...ids,
      ...session,
      payload: {
        ...(extra?.phase === undefined ? null : { phase: extra.phase }),
        ...(extra?.campaign_id === undefined ? null : { campaign_id: extra.campaign_id }),
        ...(extra?.benchmark_tier === undefined ? null : { benchmark_tier: extra.benchmark_tier }),
        ...(layers.length === 0 ? null : { verification_layers: layers }),
        ...(reason === null ? null : { error: reason })
      }
    })
  }
  changes.ended.push({
    task_id,
    outcome,
    ...(reason === null ? null : { reason }),
    ...(extra?.plan === undefined ? null : { plan: extra.plan }),
    ...(task.startedAt === 0 ? null : { started_at_ms: task.startedAt }),
    ended_at_ms: task.endedAt
  })
}

/** Updates the tasks that depend on a completed task: they wait for their next dependency, or are queued. */
function unblock(world: World, changes: StateChanges, completed: number): void {
  for (const id of world.taskDependencies.take(completed)) {
    const task = world.tasks.get(id)
    if (task === undefined || hasEnded(task.status.kind)) continue
    task.waiting -= 1
    if (task.status.kind !== 'Blocked') continue
    if (task.waiting === 0) {
      extraFields(task).queued_at_ms = world.deps.now()
      world.move(changes, task, QUEUED)
    } else world.move(changes, task, blockedOn(world, task))
  }
}

/** Returns the status `Blocked` with the first incomplete dependency of a task. */
export function blockedOn(world: World, task: Task): TaskStatus {
  const on = task.dependsOn.find(id => {
    const other = world.tasks.get(id)
    return other !== undefined && other.status.kind !== 'Completed'
  })
  return { kind: 'Blocked', on: on ?? (task.dependsOn[0] as number) }
}

/** Returns the gates that passed at the last attempt. */
function passedGates(task: Task): readonly string[] {
  return reasonsOf(task).gates.flatMap(({ gate, verdict }) => (verdict === 'pass' ? [gate] : []))
}
