import type { Orchestrator, Submitted, TaskEnd } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { Announcements } from '../announcements.ts'
import { planningErrors } from '../errors.ts'
import { matchingTrigger } from '../store/materialise.ts'
import type { PlanNode, PlanSession } from '../store/plan-rows.ts'
import type { PlanStore } from '../store/plan-store.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { recordEnd } from './record-end.ts'
import { checkQuality, stepRequest } from './step-request.ts'

/** Version up to which a plan is replanned automatically. */
const MAX_VERSIONS = 5
/** Error codes after which the same step is retried later. */
const TRANSIENT = new Set([
  'ORC_ATTENTION_EXHAUSTED',
  'ORC_BUDGET_EXCEEDED',
  'ORC_CLOSED',
  'ORC_DISABLED',
  'ORC_LOCK_CONFLICT',
  'ORC_MAX_AGENTS',
  'ORC_QUEUE_FULL',
  'ORC_STOPPED'
])
/** Seconds after which a claimed step without a task counts as abandoned. */
const CLAIM_SECONDS = 60

export interface NodeFailure {
  readonly node: PlanNode
  readonly reason: string
  readonly trigger: string
}

export interface ExecutionParts {
  readonly store: PlanStore
  readonly orchestrator: Orchestrator
  readonly announcements: Announcements
  readonly log: Logger
  /** Adds the next version of a plan after a failure. */
  readonly replan: (session: PlanSession, failure: NodeFailure) => Promise<void>
}

/**
 * Executes the steps of plans as tasks of the orchestrator.
 *
 * 1. A step whose dependencies are completed is claimed (`pending` to `queued`) and submitted; its attempt is stored.
 * 2. When its task ends, attempt and step are updated in one transaction. Then the next steps are submitted.
 * 3. A failed step is retried up to the limit of its policy. Then the plan is replanned if replanning is enabled and
 *    the error matches a trigger; otherwise the plan fails.
 *
 * {@link PlanExecution.reconcile} continues running plans after a process was killed at any point.
 */
export class PlanExecution {
  readonly #parts: ExecutionParts
  readonly #queue = new KeyedQueue()
  #closed = false

  constructor(parts: ExecutionParts) {
    this.#parts = parts
  }

  /** Runs a function that no other exclusive function of the same plan overlaps in this process. */
  exclusive<A>(session: string, run: () => Promise<A>): Promise<A> {
    return this.#queue.run(session, run)
  }

  /** Starts a plan: submits its ready steps now and later ones when ready. Throws `PLN_QUALITY_GATE` and `ORC_*`. */
  execute(id: string, risk: { readonly reason?: string } = {}): Promise<readonly Submitted[]> {
    return this.exclusive(id, async () => {
      const { store } = this.#parts
      let session = await store.session(id)
      if (risk.reason !== undefined) {
        const reason = risk.reason
        await store.changePolicies(session, ({ policy }) => ({
          ...policy,
          force_risky: true,
          force_risky_reason: reason
        }))
      }
      const nodes = await store.nodes(id, session.version)
      checkQuality(
        id,
        nodes.filter(({ status }) => status === 'pending')
      )
      if (session.status === 'pending') {
        await store.setStatus(id, ['pending'], 'running')
        session = { ...session, status: 'running' }
      }
      return this.advance(session)
    })
  }

  /** Restarts failed and cancelled steps; resolves to the ids of the plan's tasks that have not ended. */
  resume(id: string): Promise<readonly number[]> {
    return this.exclusive(id, async () => {
      const { store } = this.#parts
      const session = await store.session(id)
      for (const node of await store.nodes(id, session.version)) {
        if (node.status === 'failed' || node.status === 'cancelled') await store.move(id, node, node.status, 'pending')
      }
      await store.setStatus(id, ['pending', 'failed', 'cancelled'], 'running')
      await this.#reconcileSession(await store.session(id))
      const attempts = await store.attempts(id, session.version)
      return attempts.flatMap(({ task, outcome }) => (task === null || outcome !== null ? [] : [task]))
    })
  }

  /** Submits the ready steps of a running plan. Must run inside {@link PlanExecution.exclusive}. */
  async advance(session: PlanSession): Promise<readonly Submitted[]> {
    const { store } = this.#parts
    if (session.status !== 'running' || this.#closed) return []
    const nodes = await store.nodes(session.id, session.version)
    if (nodes.every(({ status }) => status === 'completed')) {
      await store.setStatus(session.id, ['running'], 'completed')
      return []
    }
    const done = new Set(nodes.flatMap(({ id, status }) => (status === 'completed' ? [id] : [])))
    const submitted: Submitted[] = []
    for (const node of nodes) {
      if (node.status !== 'pending' || !node.dependsOn.every(id => done.has(id))) continue
      const outcome = await this.#submit(session, node)
      if (outcome !== null) submitted.push(outcome)
    }
    return submitted
  }

  /** Records the end of a task in the background and continues its plan. */
  ended(end: TaskEnd): void {
    const { plan } = end
    if (plan === undefined || this.#closed) return
    const { log } = this.#parts
    this.exclusive(plan.session_id, () => this.#apply(end)).catch((error: unknown) =>
      log.warn('the end of a step could not be stored; it is retried later', {
        plan_session_id: plan.session_id,
        node_id: plan.node_id,
        reason: errorMessage(error)
      })
    )
  }

  /** Marks the step of a started task as `in_progress`, in the background. */
  started(task: number): void {
    const plan = this.#parts.orchestrator.task(task)?.plan
    if (plan === undefined || this.#closed) return
    this.exclusive(plan.session_id, () =>
      this.#parts.store.move(plan.session_id, { id: plan.node_id, version: plan.version }, 'queued', 'in_progress')
    ).catch((error: unknown) =>
      this.#parts.log.debug('a step could not be marked as started', { reason: errorMessage(error) })
    )
  }

  /** Continues every running plan: records ends that were missed, and submits ready steps. */
  async reconcile(): Promise<void> {
    const { store, log } = this.#parts
    const running = await store.sessions({ status: 'running', limit: 1_000, offset: 0 })
    for (const { id } of running) {
      if (this.#closed) return
      try {
        await this.exclusive(id, async () => this.#reconcileSession(await store.session(id)))
      } catch (error) {
        log.warn('a running plan could not be continued; it is retried later', {
          plan_session_id: id,
          reason: errorMessage(error)
        })
      }
    }
  }

  /** Stops submitting steps; resolves when pending changes to plans are stored. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#queue.idle()
  }

  async #reconcileSession(session: PlanSession): Promise<void> {
    const { store, orchestrator } = this.#parts
    const attempts = await store.attempts(session.id, session.version)
    for (const node of await store.nodes(session.id, session.version)) {
      if (node.status !== 'queued' && node.status !== 'in_progress') continue
      const plan = { session_id: session.id, node_id: node.id, version: node.version }
      const openAttempt = attempts.findLast(
        attempt => attempt.node === node.id && attempt.task !== null && attempt.outcome === null
      )
      const orphan = openAttempt === undefined ? this.#taskOf(plan) : undefined
      const task = openAttempt?.task ?? orphan
      if (task === undefined || task === null) {
        if ((await store.secondsSince(session.id, node)) >= CLAIM_SECONDS)
          await store.move(session.id, node, node.status, 'pending')
        continue
      }
      if (orphan !== undefined) await store.attempted(session.id, node, { task: orphan })
      const view = orchestrator.task(task)
      const outcome = view === null ? await store.recordedOutcome(task) : endOf(view.status.kind)
      if (outcome !== null)
        await this.#apply({
          task_id: task,
          outcome,
          plan,
          ...(view?.status.kind === 'Failed' ? { reason: view.status.reason } : {}),
          ...(view?.started_at_ms === undefined ? {} : { started_at_ms: view.started_at_ms }),
          ended_at_ms: view?.ended_at_ms ?? Date.now()
        })
    }
    const current = await store.session(session.id)
    const failed = (await store.nodes(current.id, current.version)).find(({ status }) => status === 'failed')
    if (failed !== undefined && current.status === 'running') {
      const last = attempts.findLast(({ node }) => node === failed.id)
      await this.#handleFailure(current, failed, last?.error ?? 'unknown')
    } else await this.advance(current)
  }

  /** Returns this process's task for a step; undefined if there is none. */
  #taskOf(plan: NonNullable<TaskEnd['plan']>): number | undefined {
    return this.#parts.orchestrator
      .tasks()
      .findLast(
        view =>
          view.plan?.session_id === plan.session_id &&
          view.plan.node_id === plan.node_id &&
          view.plan.version === plan.version
      )?.id
  }

  async #submit(session: PlanSession, node: PlanNode): Promise<Submitted | null> {
    const { store, orchestrator, announcements } = this.#parts
    if (!(await store.move(session.id, node, 'pending', 'queued'))) return null
    let submitted: Submitted
    try {
      checkQuality(session.id, [node])
      if (node.workflow !== null) announcements.handoffRequested(session.id, node.workflow)
      submitted = await orchestrator.submit(stepRequest(session, node, orchestrator.policy.planning.auto_mode_enabled))
    } catch (error) {
      // The task may exist anyway; reconcile then finds it by the plan's id.
      if (!isSvcError(error, 'ORC_NOT_DURABLE')) await this.#recordRefusal(session, node, error)
      throw error
    }
    await store.attempted(session.id, node, { task: submitted.task_id })
    if (node.workflow !== null)
      await announcements.handedOff(
        { id: session.id, session: session.originSession },
        { goal: session.goal, workflow: node.workflow, task: submitted.task_id }
      )
    return submitted
  }

  async #recordRefusal(session: PlanSession, node: PlanNode, error: unknown): Promise<void> {
    const { store } = this.#parts
    await store.attempted(session.id, node, { refused: errorMessage(error) })
    if (isSvcError(error) && TRANSIENT.has(error.code)) {
      await store.move(session.id, node, 'queued', 'pending')
      return
    }
    await store.move(session.id, node, 'queued', 'failed')
    await store.setStatus(session.id, ['running'], 'failed')
  }

  async #apply(end: TaskEnd): Promise<void> {
    const { store, announcements } = this.#parts
    const { plan } = end
    if (plan === undefined) return
    const status = await store.transaction(tx => recordEnd(tx, { ...end, plan }))
    if (status === 'completed' && plan.session_id.startsWith('wf-'))
      await announcements.workflowDone(plan.session_id, end.task_id)
    const session = await store.find(plan.session_id)
    if (session === null || status === null || session.version !== plan.version) return
    if (status === 'cancelled') await store.setStatus(session.id, ['running'], 'cancelled')
    else if (status === 'failed') {
      const node = (await store.nodes(session.id, plan.version)).find(({ id }) => id === plan.node_id)
      if (node !== undefined) await this.#handleFailure(session, node, end.reason ?? end.outcome)
    } else await this.advance(session)
  }

  async #handleFailure(session: PlanSession, node: PlanNode, reason: string): Promise<void> {
    const { store, orchestrator, replan, log } = this.#parts
    const trigger = matchingTrigger(node.policy.replan_triggers, reason)
    if (orchestrator.policy.planning.replan_enabled && trigger !== null && session.version < MAX_VERSIONS) {
      try {
        await replan(session, { node, reason, trigger })
        await this.advance(await store.session(session.id))
        return
      } catch (error) {
        if (!isSvcError(error) || !Object.hasOwn(planningErrors.specs, error.code)) throw error
        log.warn('a plan could not be replanned', { plan_session_id: session.id, reason: error.message })
      }
    }
    await store.setStatus(session.id, ['running'], 'failed')
  }
}

function endOf(status: string): 'completed' | 'failed' | 'cancelled' | null {
  if (status === 'Completed') return 'completed'
  if (status === 'Failed') return 'failed'
  return status === 'Cancelled' ? 'cancelled' : null
}
