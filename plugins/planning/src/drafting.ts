import type { InferenceClient, Orchestrator, Questioning } from '@svc/contracts'
import { type AdequacyReport, assessPlan } from './assess/adequacy.ts'
import { clientModel, type PlannerModel, stubModel } from './draft/planner-model.ts'
import type { DraftBrief } from './draft/prompts.ts'
import type { LoopMode } from './draft/refinement.ts'
import { draftPlan, type Refined } from './draft/refinement.ts'
import { planningErrors } from './errors.ts'
import type { PlanDepth, PlanTask } from './plan-task.ts'
import type { Settings } from './settings.ts'

const DEFAULT_MAX_TASKS = 30
const DEFAULT_ROUNDS = 2
const DEFAULT_BUDGET = 18_000
const DEFAULT_THRESHOLD = 0.28

export interface DraftRequest {
  readonly goal: string
  readonly scopeFiles?: readonly string[]
  readonly maxTasks?: number
  readonly depth?: PlanDepth
  readonly answererProfile?: string
  readonly loopMode?: LoopMode
  readonly autoExpand?: boolean
  readonly maxRounds?: number
  readonly tokenBudget?: number
  readonly riskThreshold?: number
  readonly temperature?: number
  readonly topP?: number
  /** Session that is charged for the model's time and tokens. */
  readonly session?: string
  readonly signal: AbortSignal
  readonly onRound?: (done: number, of: number) => void
}

export interface DraftingParts {
  readonly orchestrator: Orchestrator
  readonly settings: Settings
  readonly client: () => InferenceClient | undefined
  readonly questioning: () => Questioning | undefined
}

/** Drafts plans as the settings say: by the configured model, from the stub reply, or only from the goal's text. */
export class Drafting {
  readonly #parts: DraftingParts

  constructor(parts: DraftingParts) {
    this.#parts = parts
  }

  get fatigued(): boolean {
    const { attention } = this.#parts.orchestrator
    return attention.enabled && attention.state().fatigued
  }

  get synthesises(): boolean {
    return this.#parts.orchestrator.policy.planning.llm_synthesis_enabled || this.#stub() !== null
  }

  async draft(request: DraftRequest): Promise<Refined> {
    const { planning } = this.#parts.orchestrator.policy
    const { loopMode = 'off', signal, session, temperature, topP, onRound } = request
    return draftPlan({
      brief: this.#brief(request),
      loopMode,
      autoExpand: request.autoExpand ?? true,
      maxRounds: request.maxRounds ?? DEFAULT_ROUNDS,
      tokenBudget: request.tokenBudget ?? DEFAULT_BUDGET,
      riskThreshold: Math.min(0.95, Math.max(0.05, request.riskThreshold ?? DEFAULT_THRESHOLD)),
      synthesise: planning.llm_synthesis_enabled || loopMode !== 'off' || this.#stub() !== null,
      fatigued: this.fatigued,
      model: this.#model(session),
      signal,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      ...(onRound === undefined ? {} : { onRound }),
      ...(session === undefined
        ? {}
        : { onModelCall: (reply, milliseconds) => this.#reportModelCall(session, reply, milliseconds) })
    })
  }

  #brief(request: DraftRequest): DraftBrief {
    const { answererProfile } = request
    return {
      goal: request.goal,
      scopeFiles: request.scopeFiles ?? [],
      maxTasks: request.maxTasks ?? DEFAULT_MAX_TASKS,
      depth: request.depth ?? this.#parts.orchestrator.policy.planning.depth,
      ...(answererProfile === undefined ? {} : { answererProfile })
    }
  }

  /** Scores tasks that were not drafted by this class. */
  assess(goal: string, tasks: readonly PlanTask[], routerComplexity: number, scopeFiles: number): AdequacyReport {
    return assessPlan({
      goal,
      tasks,
      routerComplexity,
      scopeFiles,
      depth: this.#parts.orchestrator.policy.planning.depth,
      fatigued: this.fatigued
    })
  }

  #stub(): string | null {
    const { stub_body, stub_ack } = this.#parts.settings
    return stub_ack && stub_body !== undefined ? stub_body : null
  }

  #model(session: string | undefined): PlannerModel | null {
    const stub = this.#stub()
    if (stub !== null) return stubModel(stub)
    const client = this.#parts.client()
    return client === undefined ? null : clientModel(client, session)
  }

  #reportModelCall(
    session: string,
    reply: { readonly promptTokens: number; readonly completionTokens: number },
    milliseconds: number
  ): void {
    const duration_ms = Math.round(milliseconds)
    this.#parts.orchestrator.emit({
      type: 'llm_call_completed',
      session_id: session,
      duration_ms,
      prompt_tokens: reply.promptTokens,
      completion_tokens: reply.completionTokens
    })
    // Model time is charged to the session; a failed charge does not prevent the plan.
    void this.#parts
      .questioning()
      ?.debit(session, duration_ms)
      .catch(() => {})
  }
}

/** Returns the adequacy fields that are logged and reported. */
export function adequacyNote(report: AdequacyReport): Readonly<Record<string, unknown>> {
  const { score, is_too_thin, reason_codes } = report.adequacy
  return {
    score,
    is_too_thin,
    reason_codes: [...reason_codes],
    critical_count: report.critical_count,
    aggregate_unresolved_risk: report.aggregate_unresolved_risk
  }
}

/** Throws `PLN_ADEQUACY` if the plan is too thin. */
export function assertAdequate(report: AdequacyReport): void {
  const { score, is_too_thin, reason_codes, detail_target_min_tasks } = report.adequacy
  if (!is_too_thin) return
  const codes = [...new Set([...reason_codes, ...report.per_task.flatMap(each => each.reason_codes)])].join(', ')
  throw planningErrors.create(
    'PLN_ADEQUACY',
    `Plan adequacy: score ${score.toFixed(2)}, unresolved risk ${report.aggregate_unresolved_risk.toFixed(2)}${
      codes === '' ? '' : ` (${codes})`
    }; at least ${detail_target_min_tasks} steps are expected`,
    {
      data: adequacyNote(report),
      hint: 'name files, tests and acceptance criteria in the goal, or disable plan_adequacy_enforce'
    }
  )
}
