import { randomUUID } from 'node:crypto'
import type { FileAffinity, Orchestrator } from '@svc/contracts'
import type { Announcements } from './announcements.ts'
import type { AdequacyReport } from './assess/adequacy.ts'
import { complexityOf } from './assess/router.ts'
import type { Refined } from './draft/refinement.ts'
import { piecesOf, taskOf } from './draft/splitter.ts'
import { assertAdequate, type Drafting, type DraftRequest } from './drafting.ts'
import type { NodeFailure } from './execution/plan-execution.ts'
import { nodeFromTask, taskFromNode } from './store/materialise.ts'
import type { NewNode, NewVersion, PlanNode, PlanSession, SessionMetadata, SessionStatus } from './store/plan-rows.ts'
import type { PlanStore } from './store/plan-store.ts'

const FAILED_BEFORE = / \(an earlier attempt failed: [\s\S]*\)$/
const REASON_CHARACTERS = 400

export interface PlannerParts {
  readonly store: PlanStore
  readonly orchestrator: Orchestrator
  readonly drafting: Drafting
  readonly announcements: Announcements
}

export interface StoredPlan {
  readonly id: string
  readonly nodes: readonly NewNode[]
}

/** Stores plans and creates new versions of them. */
export class Planner {
  readonly #parts: PlannerParts

  constructor(parts: PlannerParts) {
    this.#parts = parts
  }

  /** Stores a draft as version 1 of a new plan, with the status `pending`. */
  async store(
    goal: string,
    refined: Refined,
    options: {
      readonly strategy: string
      readonly session: string | null
      readonly trigger: string
      readonly metadata: SessionMetadata
      readonly files?: readonly FileAffinity[]
    }
  ): Promise<StoredPlan> {
    const nodes = refined.tasks.map(task => nodeFromTask(task, options.files))
    return this.#create({
      id: `plan-${randomUUID()}`,
      goal,
      nodes,
      strategy: options.strategy,
      session: options.session,
      rounds: refined.rounds,
      stopReason: refined.stopReason,
      metadata: { source: refined.source, ...options.metadata },
      version: this.#version(options.trigger, {}, refined.report)
    })
  }

  /** Stores a plan of one step that hands the goal to a workflow. */
  async storeHandoff(
    goal: string,
    workflow: string,
    options: {
      readonly session: string | null
      readonly metadata: SessionMetadata
      readonly files: readonly FileAffinity[]
    }
  ): Promise<StoredPlan> {
    const node = nodeFromTask({ ...taskOf(`[workflow-handoff] ${goal}`, 1), files: [] }, options.files)
    return this.#create({
      id: `wf-${randomUUID()}`,
      goal,
      nodes: [{ ...node, workflow }],
      strategy: 'WorkflowHandoff',
      session: options.session,
      rounds: 0,
      stopReason: null,
      metadata: options.metadata,
      version: { triggerEvent: 'goal', triggerPayload: { workflow }, quality: 0, verdict: 'pending' }
    })
  }

  /**
   * Adds the version that a user requested; the hint is appended to the goal. Must run inside
   * {@link PlanExecution.exclusive}.
   */
  async replan(
    session: PlanSession,
    hint: string,
    request: Pick<DraftRequest, 'signal' | 'onRound' | 'loopMode'>
  ): Promise<{ readonly version: number; readonly report: AdequacyReport }> {
    const goal = `${session.goal.trimEnd()}\n\n# Replan context\n${hint}`
    const old = await this.#parts.store.nodes(session.id, session.version)
    const nodes =
      this.#parts.drafting.synthesises || (request.loopMode ?? 'off') !== 'off'
        ? await this.#redraft(session, goal, old, request)
        : revise(old, piecesOf(hint), null)
    const node = old.find(({ status }) => status !== 'completed')?.id ?? ''
    const status = session.status === 'running' ? 'running' : 'pending'
    return this.#addVersion(session, nodes, { goal, node, reason: hint, trigger: 'replan', status, old, enforce: true })
  }

  /** Adds a version after a failed step; the plan stays running. Must run inside {@link PlanExecution.exclusive}. */
  async replanAfter(session: PlanSession, { node, reason, trigger }: NodeFailure, signal: AbortSignal): Promise<void> {
    const old = await this.#parts.store.nodes(session.id, session.version)
    const goal = `${session.goal.trimEnd()}\n\n# Replan context\nStep ${node.id} failed (${trigger}): ${reason}`
    const nodes = this.#parts.drafting.synthesises
      ? await this.#redraft(session, goal, old, { signal })
      : revise(old, [], { node: node.id, reason })
    await this.#addVersion(session, nodes, {
      // The user's goal stays unchanged.
      goal: session.goal,
      node: node.id,
      reason: `${trigger}: ${reason}`,
      trigger: 'step_failed',
      status: 'running',
      old,
      enforce: false
    })
  }

  async #redraft(
    session: PlanSession,
    goal: string,
    old: readonly PlanNode[],
    request: Pick<DraftRequest, 'signal' | 'onRound' | 'loopMode'>
  ): Promise<NewNode[]> {
    const done = old.filter(({ status }) => status === 'completed')
    const doneList =
      done.length === 0 ? '' : `\n\nAlready done:\n${done.map(each => `- ${each.description}`).join('\n')}`
    const { scope_files: scopeFiles, max_tasks: maxTasks } = session.metadata
    const refined = await this.#parts.drafting.draft({
      goal: `${goal}${doneList}`,
      ...request,
      ...(scopeFiles === undefined ? {} : { scopeFiles }),
      ...(maxTasks === undefined ? {} : { maxTasks }),
      ...(session.originSession === null ? {} : { session: session.originSession })
    })
    if (refined.source === 'splitter') return revise(old, piecesOf(goal.slice(session.goal.length)), null)
    const finished = new Set(done.map(({ description }) => sameText(description)))
    return refined.tasks.map(task => {
      const node = nodeFromTask(task)
      return finished.has(sameText(node.description)) ? { ...node, status: 'completed' } : node
    })
  }

  async #addVersion(
    session: PlanSession,
    nodes: readonly NewNode[],
    change: {
      readonly goal: string
      readonly node: string
      readonly reason: string
      readonly trigger: string
      readonly status: SessionStatus
      readonly old: readonly PlanNode[]
      readonly enforce: boolean
    }
  ): Promise<{ readonly version: number; readonly report: AdequacyReport }> {
    const { store, orchestrator, drafting, announcements } = this.#parts
    const scope = session.metadata.scope_files?.length ?? 0
    const tasks = nodes.map((node, at) => taskFromNode(node, at + 1))
    const report = drafting.assess(change.goal, tasks, complexityOf(change.goal), scope)
    if (change.enforce && orchestrator.policy.planning.adequacy_enforce) assertAdequate(report)
    const version = session.version + 1
    const payload = { reason: change.reason, ...(change.node === '' ? {} : { node_id: change.node }) }
    const added = await store.addVersion(session, this.#version(change.trigger, payload, report), nodes, {
      goal: change.goal,
      status: change.status,
      metadata: session.metadata
    })
    if (!added)
      throw new Error(`plan ${session.id}: another process replaced version ${session.version}; run the command again`)
    await this.#cancelTasks(session, change.old)
    await announcements.replanned(
      { id: session.id, session: session.originSession },
      { node: change.node, reason: change.reason, version }
    )
    return { version, report }
  }

  /** Cancels the tasks of superseded steps. */
  async #cancelTasks(session: PlanSession, old: readonly PlanNode[]): Promise<void> {
    const { store, orchestrator } = this.#parts
    const active = new Set(
      old.flatMap(({ id, status }) => (status === 'queued' || status === 'in_progress' ? [id] : []))
    )
    if (active.size === 0) return
    for (const { node, task, outcome } of await store.attempts(session.id, session.version)) {
      if (task === null || outcome !== null || !active.has(node)) continue
      // Fails if the task has just ended or belongs to another process. Either way the superseded step ignores its end.
      await orchestrator.cancel(task).catch(() => {})
    }
  }

  async #create(plan: {
    readonly id: string
    readonly goal: string
    readonly strategy: string
    readonly session: string | null
    readonly rounds: number
    readonly stopReason: string | null
    readonly metadata: SessionMetadata
    readonly version: NewVersion
    readonly nodes: readonly NewNode[]
  }): Promise<StoredPlan> {
    const { session, ...rest } = plan
    await this.#parts.store.create({ ...rest, originSession: session, status: 'pending' })
    await this.#parts.announcements.created(plan)
    return { id: plan.id, nodes: plan.nodes }
  }

  #version(trigger: string, payload: Readonly<Record<string, unknown>>, report: AdequacyReport): NewVersion {
    const { adequacy_shadow, adequacy_enforce } = this.#parts.orchestrator.policy.planning
    const scored = adequacy_shadow || adequacy_enforce
    return {
      triggerEvent: trigger,
      triggerPayload: payload,
      quality: scored ? report.adequacy.score : 0,
      verdict: scored ? (report.adequacy.is_too_thin ? 'thin' : 'adequate') : 'pending'
    }
  }
}

/**
 * Returns the steps of the next version, without a model. Completed steps stay, all others become pending, and the
 * failed step's description gets its error. Added steps come last, but before a final verifying step.
 */
function revise(
  old: readonly PlanNode[],
  added: readonly string[],
  failure: { readonly node: string; readonly reason: string } | null
): NewNode[] {
  const steps = old.map((node): NewNode => {
    const { version: _, ...rest } = node
    if (node.status === 'completed') return rest
    if (failure?.node !== node.id) return { ...rest, status: 'pending' }
    const description = node.description.replace(FAILED_BEFORE, '')
    return {
      ...rest,
      status: 'pending',
      description: `${description} (an earlier attempt failed: ${failure.reason.slice(0, REASON_CHARACTERS)})`
    }
  })
  if (added.length === 0) return steps
  const highest = Math.max(0, ...old.map(({ id }) => Number(id.slice(1))))
  const last = steps.at(-1)
  const verifies =
    last !== undefined && last.status === 'pending' && /^(?:verify|test|validate)\b/i.test(last.description)
  const before = verifies ? steps.slice(0, -1) : steps
  const fresh: NewNode[] = []
  for (const [at, text] of added.entries()) {
    const after = fresh.at(-1) ?? before.at(-1)
    fresh.push({
      ...nodeFromTask({ ...taskOf(text, highest + at + 1), depends_on: [] }),
      dependsOn: after === undefined ? [] : [after.id]
    })
  }
  const end = fresh.at(-1)
  return verifies && end !== undefined ? [...before, ...fresh, { ...last, dependsOn: [end.id] }] : [...before, ...fresh]
}

function sameText(description: string): string {
  return description.replace(FAILED_BEFORE, '').toLowerCase().replace(/\W+/g, ' ').trim()
}
