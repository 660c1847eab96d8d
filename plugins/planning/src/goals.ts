import { randomUUID } from 'node:crypto'
import type { GoalOutcome, GoalRequest, Orchestrator, SubmitRequest } from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import type { Announcements } from './announcements.ts'
import { isInRollout } from './assess/rollout.ts'
import { type RouterDecision, routeGoal } from './assess/router.ts'
import { taskOf } from './draft/splitter.ts'
import { adequacyNote, assertAdequate, type Drafting } from './drafting.ts'
import { planningErrors } from './errors.ts'
import type { PlanExecution } from './execution/plan-execution.ts'
import { checkQuality } from './execution/step-request.ts'
import type { Planner } from './planner.ts'
import { nodeFromTask } from './store/materialise.ts'
import type { SessionMetadata } from './store/plan-rows.ts'
import { noDatabase } from './store/plan-store.ts'

/** Characters of a goal that are searched for the name of a workflow. */
const NAMED_WITHIN = 2_000

export interface GoalParts {
  readonly orchestrator: Orchestrator
  readonly drafting: Drafting
  readonly announcements: Announcements
  /** Null if no database is attached. */
  readonly stored: { readonly planner: Planner; readonly execution: PlanExecution } | null
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Decides how a submitted goal is executed: as a plan, by a workflow, or as one task. */
export class Goals {
  readonly #parts: GoalParts

  constructor(parts: GoalParts) {
    this.#parts = parts
  }

  /**
   * Submits the goal and returns the outcome; null if the caller must submit it as an ordinary task. Throws `PLN_*` and
   * `ORC_*` if the goal is rejected. In mode `auto`, a goal becomes one task if its steps fail the quality gate or no
   * database is attached.
   */
  async handle(goal: GoalRequest): Promise<GoalOutcome | null> {
    const { orchestrator, announcements } = this.#parts
    const { planning } = orchestrator.policy
    const { request, mode } = goal
    const text = request.description
    if (mode === 'auto') {
      const { auto_mode_enabled, router_enabled, rollout_percent } = planning
      if (!auto_mode_enabled || !router_enabled || rollout_percent === 0 || !(await isInRollout(text, rollout_percent)))
        return this.#single(request, null)
    }
    const decision = routeGoal(text, { mode, planningEnabled: planning.enabled })
    announcements.routed(decision)
    if (planning.shadow_mode || decision.strategy === 'ImmediateAct') return this.#single(request, decision)
    try {
      if (decision.strategy === 'WorkflowHandoff' && planning.workflow_handoff_enabled) return await this.#handOff(goal)
      return await this.#plan(goal, decision)
    } catch (error) {
      const cannot = isSvcError(error, 'PLN_QUALITY_GATE') || isSvcError(error, 'ORC_NO_DATABASE')
      if (mode !== 'auto' || !cannot) throw error
      this.#parts.log.info('a goal was not planned; it becomes one task', { reason: (error as Error).message })
      return this.#single(request, decision)
    }
  }

  /** Returns null, or submits the goal as one task if the outcome has more to report than the task itself. */
  async #single(request: SubmitRequest, decision: RouterDecision | null): Promise<GoalOutcome | null> {
    const { orchestrator, drafting } = this.#parts
    if (!orchestrator.policy.planning.adequacy_shadow) {
      if (decision === null || decision.strategy === 'ImmediateAct') return null
      return { submitted: await orchestrator.submit(request), strategy: decision.strategy }
    }
    const { description, files, hints } = request
    const complexity = hints?.complexity ?? 5
    const task = { ...taskOf(description, 1), files: files.map(({ path }) => path), estimated_complexity: complexity }
    const report = drafting.assess(description, [task], complexity, files.length)
    return {
      submitted: await orchestrator.submit(request),
      strategy: decision?.strategy ?? 'ImmediateAct',
      shadow_plan_adequacy: adequacyNote(report)
    }
  }

  async #handOff(goal: GoalRequest): Promise<GoalOutcome> {
    const { orchestrator, announcements, stored } = this.#parts
    const { request } = goal
    const workflow = workflowName(request.description)
    const strategy = 'WorkflowHandoff'
    if (stored !== null) {
      const { id } = await stored.planner.storeHandoff(request.description, workflow, {
        session: request.session_id ?? null,
        metadata: metadataOf(goal),
        files: request.files
      })
      return { ...(await this.#execute(id)), strategy }
    }
    // Without a database only the task records the handoff.
    const plan = { id: `wf-${randomUUID()}`, session: request.session_id ?? null }
    announcements.handoffRequested(plan.id, workflow)
    const submitted = await orchestrator.submit({
      ...request,
      description: `[workflow-handoff] ${request.description}`,
      plan: { session_id: plan.id, node_id: 'n1', version: 1 }
    })
    await announcements.handedOff(plan, { goal: request.description, workflow, task: submitted.task_id })
    return { submitted, plan_session_id: plan.id, strategy }
  }

  async #plan(goal: GoalRequest, decision: RouterDecision): Promise<GoalOutcome> {
    const { orchestrator, drafting, stored, signal, log } = this.#parts
    const { request, goal_scope, max_plan_depth } = goal
    if (stored === null) throw noDatabase()
    const { planning } = orchestrator.policy
    const scopeFiles = [...request.files.map(({ path }) => path), ...(goal_scope === undefined ? [] : [goal_scope])]
    const refined = await drafting.draft({
      goal: request.description,
      scopeFiles,
      signal,
      autoExpand: planning.llm_synthesis_enabled,
      ...(max_plan_depth === undefined ? {} : { maxTasks: max_plan_depth }),
      ...(request.session_id === undefined ? {} : { session: request.session_id })
    })
    const note = adequacyNote(refined.report)
    if (planning.adequacy_shadow || planning.adequacy_enforce)
      log.info('plan adequacy', { surface: goal.surface, strategy: decision.strategy, ...note })
    if (planning.adequacy_enforce) assertAdequate(refined.report)
    checkQuality(
      'the goal',
      refined.tasks.map(task => nodeFromTask(task))
    )
    const { id } = await stored.planner.store(request.description, refined, {
      strategy: 'SequentialDag',
      session: request.session_id ?? null,
      trigger: 'goal',
      files: request.files,
      metadata: { ...metadataOf(goal), scope_files: scopeFiles }
    })
    return {
      ...(await this.#execute(id)),
      strategy: 'SequentialDag',
      ...(planning.adequacy_shadow ? { shadow_plan_adequacy: note } : {})
    }
  }

  async #execute(id: string): Promise<Pick<GoalOutcome, 'submitted' | 'plan_session_id'>> {
    const [submitted] = (await this.#parts.stored?.execution.execute(id)) ?? []
    if (submitted === undefined)
      throw planningErrors.create('PLN_SESSION_UNKNOWN', `plan ${id}: another caller already executes it`)
    return { submitted, plan_session_id: id }
  }
}

function metadataOf({ surface, request, goal_type, goal_scope, max_plan_depth }: GoalRequest): SessionMetadata {
  const { priority, agent_name, capabilities, depends_on, approvals, hints } = request
  return {
    mode: surface,
    ...(goal_type === undefined ? {} : { goal_type }),
    ...(goal_scope === undefined ? {} : { goal_scope }),
    ...(max_plan_depth === undefined ? {} : { max_tasks: max_plan_depth }),
    request: {
      ...(priority === undefined ? {} : { priority }),
      ...(agent_name === undefined ? {} : { agent_name }),
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(depends_on === undefined ? {} : { depends_on }),
      ...(approvals === undefined ? {} : { approvals }),
      ...(hints === undefined ? {} : { hints })
    }
  }
}

/**
 * Returns the name of the workflow in a goal: the first quoted word ("the `release` workflow"), or the word before
 * "workflow" or "pipeline"; otherwise `goal`.
 */
export function workflowName(text: string): string {
  const goal = text.slice(0, NAMED_WITHIN)
  const quoted = /[`"']([A-Za-z_][\w.-]*)[`"']/.exec(goal)?.[1]
  const before =
    /\b(?!(?:the|a|an|this|that|our|my|its|new|whole)\b)([A-Za-z_][\w.-]*)\s+(?:workflow|pipeline)\b/i.exec(goal)?.[1]
  return quoted ?? before ?? 'goal'
}
