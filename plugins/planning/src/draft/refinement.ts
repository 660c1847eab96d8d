import { errorMessage } from '@svc/plugin-sdk'
import { type AdequacyReport, assessPlan } from '../assess/adequacy.ts'
import { complexityOf } from '../assess/router.ts'
import type { PlanDepth, PlanTask } from '../plan-task.ts'
import { type PlannerModel, type PlanReply, requestPlan } from './planner-model.ts'
import { type DraftBrief, draftMessages, refineMessages } from './prompts.ts'
import { splitGoal } from './splitter.ts'

export type LoopMode = 'off' | 'auto' | 'force'

/**
 * Reason why refinement ended:
 * - `ready`: the first draft was good enough;
 * - `ready_below_threshold`: refinement made the plan good enough;
 * - `refinement_off`: no rounds are allowed;
 * - `max_refine_rounds`, `token_budget`: the limit is reached;
 * - `model_resolve_failed`: there is no model, or it failed;
 * - `reply_invalid`: two consecutive replies were no plan.
 */
export type StopReason =
  | 'ready'
  | 'ready_below_threshold'
  | 'refinement_off'
  | 'max_refine_rounds'
  | 'token_budget'
  | 'model_resolve_failed'
  | 'reply_invalid'

export interface RefinementOptions {
  readonly brief: DraftBrief
  readonly loopMode: LoopMode
  readonly autoExpand: boolean
  /** 0 to 8. */
  readonly maxRounds: number
  readonly tokenBudget: number
  /** Risk above which a plan is refined, [0.05, 0.95]. */
  readonly riskThreshold: number
  /** Whether the model writes the first draft. */
  readonly synthesise: boolean
  readonly fatigued: boolean
  /** Null if there is none. */
  readonly model: PlannerModel | null
  readonly temperature?: number
  readonly topP?: number
  readonly signal: AbortSignal
  /** Called after each successful call of the model, with its duration in milliseconds. */
  readonly onModelCall?: (reply: PlanReply, milliseconds: number) => void
  readonly onRound?: (done: number, of: number) => void
}

export interface Refined {
  readonly tasks: readonly PlanTask[]
  readonly summary: string | null
  readonly report: AdequacyReport
  readonly rounds: number
  readonly stopReason: StopReason
  /** Origin of the tasks. */
  readonly source: 'splitter' | 'model' | 'stub'
  /** Why the model did not help; null if it did or was not called. */
  readonly modelProblem: string | null
}

/** Maximum tokens of a reply, by depth. */
const ALLOWANCE: Readonly<Record<PlanDepth, number>> = { minimal: 3072, standard: 4096, deep: 8192 }
/** Maximum rounds with `loop_mode` off, for a plan that is too thin. */
const EXPANSION_ROUNDS = 4

/**
 * Drafts a plan and refines it until it is good enough, a limit is reached or the model fails. A round that makes the
 * plan worse is discarded, but counts. Throws only on abort.
 */
export async function draftPlan(options: RefinementOptions): Promise<Refined> {
  const { brief, loopMode, riskThreshold, signal } = options
  const drafter = new Drafter(options)
  let current = await drafter.first()
  const maxRounds =
    loopMode === 'off' ? (options.autoExpand ? Math.min(EXPANSION_ROUNDS, options.maxRounds) : 0) : options.maxRounds
  const ready = () => {
    const { adequacy, aggregate_unresolved_risk: risk } = current.report
    // With loop_mode off, only a plan that is too thin justifies a call of the model.
    return !adequacy.is_too_thin && (loopMode === 'off' || risk < riskThreshold)
  }
  let rounds = 0
  let stopReason: StopReason | null = null
  while (stopReason === null) {
    signal.throwIfAborted()
    if (ready() && (loopMode !== 'force' || rounds > 0)) stopReason = rounds === 0 ? 'ready' : 'ready_below_threshold'
    else if (maxRounds === 0) stopReason = 'refinement_off'
    else if (rounds >= maxRounds) stopReason = 'max_refine_rounds'
    else if (drafter.spent + ALLOWANCE[brief.depth] > options.tokenBudget) stopReason = 'token_budget'
    else if (options.model === null) stopReason = 'model_resolve_failed'
    else {
      const outcome = await drafter.refine(current)
      if (typeof outcome === 'string') stopReason = outcome
      else {
        rounds += 1
        options.onRound?.(rounds, maxRounds)
        if (isBetter(outcome.report, current.report)) current = outcome
      }
    }
  }
  return { ...current, rounds, stopReason, modelProblem: drafter.problem }
}

/** True if `next` is at least as good: first not too thin, then by score times (1 - risk). */
function isBetter(next: AdequacyReport, than: AdequacyReport): boolean {
  const rank = ({ adequacy, aggregate_unresolved_risk: risk }: AdequacyReport) =>
    (adequacy.is_too_thin ? 0 : 1) + adequacy.score * (1 - risk)
  return rank(next) >= rank(than)
}

interface Draft {
  readonly tasks: readonly PlanTask[]
  readonly summary: string | null
  readonly report: AdequacyReport
  readonly source: Refined['source']
}

class Drafter {
  /** Tokens spent on refinement rounds, without the first draft. */
  spent = 0
  problem: string | null = null
  readonly #options: RefinementOptions
  readonly #complexity: number

  constructor(options: RefinementOptions) {
    this.#options = options
    this.#complexity = complexityOf(options.brief.goal)
  }

  async first(): Promise<Draft> {
    const { brief, model, synthesise } = this.#options
    if (synthesise && model !== null) {
      const reply = await this.#request(model, draftMessages(brief))
      if (reply?.plan) return this.#scored(reply.plan.tasks, reply.plan.summary, model.source)
    }
    return this.#scored(splitGoal(brief.goal, { maxTasks: brief.maxTasks }), null, 'splitter')
  }

  async refine(current: Draft): Promise<Draft | StopReason> {
    const { brief, model } = this.#options
    if (model === null) return 'model_resolve_failed'
    const reply = await this.#request(model, refineMessages(brief, current.tasks, current.report))
    if (reply === null) return 'model_resolve_failed'
    this.spent += reply.tokens
    if (reply.plan === null) return 'reply_invalid'
    return this.#scored(reply.plan.tasks, reply.plan.summary ?? current.summary, model.source, current.tasks)
  }

  /** Requests a plan from the model; null if the model failed. */
  async #request(model: PlannerModel, messages: ReturnType<typeof draftMessages>): Promise<PlanReply | null> {
    const { brief, temperature, topP, signal, onModelCall } = this.#options
    const began = performance.now()
    try {
      const request = {
        messages,
        maxTokens: ALLOWANCE[brief.depth],
        signal,
        ...(temperature === undefined ? {} : { temperature }),
        ...(topP === undefined ? {} : { topP })
      }
      const reply = await requestPlan(model, request, brief.maxTasks)
      onModelCall?.(reply, performance.now() - began)
      this.problem = reply.plan === null ? 'two consecutive replies of the model were no plan' : null
      return reply
    } catch (error) {
      signal.throwIfAborted()
      this.problem = errorMessage(error)
      return null
    }
  }

  #scored(
    tasks: readonly PlanTask[],
    summary: string | null,
    source: Draft['source'],
    previous?: readonly PlanTask[]
  ): Draft {
    const { brief, fatigued } = this.#options
    const report = assessPlan({
      goal: brief.goal,
      tasks,
      routerComplexity: this.#complexity,
      scopeFiles: brief.scopeFiles.length,
      depth: brief.depth,
      fatigued,
      ...(previous === undefined ? {} : { previous })
    })
    return { tasks, summary, report, source }
  }
}
