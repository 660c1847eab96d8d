import type { Orchestrator, Questioning, QuestionOutcome } from '@svc/contracts'
import type { Handler, InputOf, Logger } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import { contradictionRatio, planConfidence, planQgate, QUESTION_COST, questionGain } from '../assess/qgate.ts'
import { planDocument, writePlanFile } from '../draft/plan-document.ts'
import type { Refined } from '../draft/refinement.ts'
import { adequacyNote, assertAdequate, type Drafting } from '../drafting.ts'
import type { Planner } from '../planner.ts'
import type { plan } from './plan.ts'

type Input = InputOf<typeof plan>

export interface PlanParts {
  readonly orchestrator: Orchestrator
  readonly drafting: Drafting
  /** Null if no database is attached. */
  readonly planner: Planner | null
  readonly questioning: () => Questioning | undefined
  readonly projectRoot: string
}

export function planHandler(parts: PlanParts): Handler<typeof plan> {
  const { orchestrator, drafting, projectRoot } = parts
  return async (input, call) => {
    const telemetry = input.plan_telemetry_session_id ?? input.session_id
    const refined = await drafting.draft({
      goal: input.goal,
      scopeFiles: input.scope_files,
      maxTasks: input.max_tasks,
      loopMode: input.loop_mode,
      autoExpand: input.auto_expand_thin_plan,
      maxRounds: input.max_refine_rounds,
      tokenBudget: input.refine_budget_tokens,
      riskThreshold: input.gap_risk_threshold,
      signal: call.signal,
      onRound: (done, of) => call.progress(done, of, `refinement round ${done}`),
      ...(input.plan_depth === undefined ? {} : { depth: input.plan_depth }),
      ...(input.answerer_profile === undefined ? {} : { answererProfile: input.answerer_profile }),
      ...(input.temperature === undefined ? {} : { temperature: input.temperature }),
      ...(input.top_p === undefined ? {} : { topP: input.top_p }),
      ...(telemetry === undefined ? {} : { session: telemetry })
    })
    const { report, tasks } = refined
    const { planning } = orchestrator.policy
    if (planning.adequacy_shadow || planning.adequacy_enforce)
      call.log.info('plan adequacy', { surface: 'svc_plan', ...adequacyNote(report) })
    if (planning.adequacy_enforce) assertAdequate(report)
    const outcome = await askQuestion(parts, input, refined)
    const questions = report.suggested_clarifying_questions
    const summary = refined.summary ?? summaryOf(input.goal, tasks.length)
    const plan_md = planDocument({ goal: input.goal, summary, tasks, questions })
    if (input.write_to_disk) await writePlanFile(projectRoot, plan_md)
    const stored = await storePlan(parts, input, refined, summary, call.log)
    const from = input.plan_page_offset
    const page = tasks.slice(from, input.plan_page_limit === undefined ? undefined : from + input.plan_page_limit)
    return {
      goal: input.goal,
      tasks: page.map(task => ({
        ...task,
        files: [...task.files],
        depends_on: [...task.depends_on],
        preconditions: [...task.preconditions]
      })),
      summary,
      plan_md,
      written_to_disk: input.write_to_disk,
      plan_total_tasks: tasks.length,
      plan_page_offset: from,
      loop_mode_effective: input.loop_mode,
      refinement_rounds: refined.rounds,
      loop_stop_reason: refined.stopReason,
      last_aggregate_gap_risk: report.aggregate_unresolved_risk,
      gap_report: {
        ...report,
        per_task: report.per_task.map(each => ({ ...each, reason_codes: [...each.reason_codes] })),
        suggested_clarifying_questions: [...questions],
        adequacy: {
          ...report.adequacy,
          reason_codes: [...report.adequacy.reason_codes],
          rubric_scores: { ...report.adequacy.rubric_scores }
        }
      },
      plan_adequacy_score: report.adequacy.score,
      plan_too_thin: report.adequacy.is_too_thin,
      adequacy_reason_codes: [...report.adequacy.reason_codes],
      plan_depth_effective: input.plan_depth ?? planning.depth,
      clarifying_questions: [...questions],
      plan_source: refined.source,
      model_problem: refined.modelProblem,
      ...stored,
      qgate: planQgate(report, tasks, outcome, orchestrator.policy.qgate)
    }
  }
}

/** Returns the summary of a plan for which the model wrote none. */
export function summaryOf(goal: string, steps: number): string {
  const first = goal.trim().split('\n')[0] ?? ''
  return `${steps} ${steps === 1 ? 'step' : 'steps'} for: ${first.length > 160 ? `${first.slice(0, 159)}…` : first}`
}

/** Asks the user the plan's first question if the questioning policy finds it worth its cost; null if not possible. */
async function askQuestion(
  { questioning }: PlanParts,
  input: Input,
  { report }: Refined
): Promise<QuestionOutcome | null> {
  const service = questioning()
  const [prompt] = report.suggested_clarifying_questions
  const session = input.question_link_session_id ?? input.session_id
  if (service === undefined || prompt === undefined || session === undefined || !input.questioning_hints_enabled)
    return null
  return service.consider({
    session_id: session,
    surface: 'svc_plan',
    kind: 'open_ended',
    prompt,
    expected_information_gain_bits: questionGain(report.aggregate_unresolved_risk),
    expected_user_cost: QUESTION_COST,
    confidence: planConfidence(report),
    contradiction_ratio: contradictionRatio(report),
    high_risk: report.per_task.some(({ reason_codes }) => reason_codes.includes('risk_destructive')),
    channel: 'plan'
  })
}

/** Stores the plan; a failure is reported, not thrown, because the plan is useful anyway. */
async function storePlan(
  { planner }: PlanParts,
  input: Input,
  refined: Refined,
  summary: string,
  log: Logger
): Promise<{ readonly plan_session_id: string | null; readonly persistence: string }> {
  if (planner === null) return { plan_session_id: null, persistence: 'Not stored: Database not attached.' }
  try {
    const { id } = await planner.store(input.goal, refined, {
      strategy: 'SequentialDag',
      session: input.session_id ?? null,
      trigger: 'svc_plan',
      metadata: {
        summary,
        mode: input.loop_mode,
        scope_files: input.scope_files,
        max_tasks: input.max_tasks,
        ...(input.answerer_profile === undefined ? {} : { answerer_profile: input.answerer_profile }),
        ...(input.plan_telemetry_session_id === undefined
          ? {}
          : { telemetry_session_id: input.plan_telemetry_session_id })
      }
    })
    return { plan_session_id: id, persistence: `Stored as ${id}.` }
  } catch (error) {
    const reason = errorMessage(error)
    log.warn('a plan could not be stored', { reason })
    return { plan_session_id: null, persistence: `Not stored: ${reason}` }
  }
}
