import { defineOperation, t } from '@svc/plugin-sdk'
import { planningErrors } from '../errors.ts'

const { PLN_ADEQUACY, PLN_FILE_REFUSED } = planningErrors.specs
/** Enough for a deep plan with all its rounds on a slow machine. */
const PLAN_TIMEOUT_MS = 900_000

const planDepth = t.enum(['minimal', 'standard', 'deep'], { description: 'Level of detail of the plan.' })

const planTask = t.object({
  id: t.integer(),
  description: t.string(),
  category: t.optional(t.string()),
  files: t.array(t.string()),
  estimated_complexity: t.integer(),
  depends_on: t.array(t.integer()),
  test_decision: t.optional(t.string()),
  preconditions: t.array(t.string())
})

const gapReport = t.object({
  per_task: t.array(
    t.object({
      task_id: t.integer(),
      reason_codes: t.array(t.string()),
      task_confidence: t.number(),
      critical: t.boolean()
    })
  ),
  aggregate_unresolved_risk: t.number(),
  critical_count: t.integer(),
  suggested_clarifying_questions: t.array(t.string()),
  adequacy: t.object({
    score: t.number(),
    is_too_thin: t.boolean(),
    reason_codes: t.array(t.string()),
    detail_target_min_tasks: t.integer(),
    estimated_goal_complexity: t.integer(),
    rubric_scores: t.record(t.number())
  })
})

/** Quality gate's view of a plan, sent as `meta` of a tool's result. */
export const qgateMeta = t.object({
  risk_decision: t.enum(['Answer', 'Ask', 'Abstain']),
  confidence_estimate: t.number(),
  contradiction_ratio: t.number(),
  citation_coverage: t.number(),
  questioning: t.object({
    question_needed: t.boolean(),
    question_kind: t.nullable(t.string()),
    prompt: t.nullable(t.string()),
    expected_information_gain_bits: t.number(),
    expected_user_cost: t.number(),
    utility_bits_per_cost: t.number(),
    stop_reason: t.nullable(t.string())
  })
})

const session = (description: string) => t.optional(t.string({ minLength: 1, maxLength: 2048, description }))

export const plan = defineOperation({
  id: 'planning.plan',
  summary: 'Draft and refine a plan without executing it',
  input: t.object({
    goal: t.string({ minLength: 1, maxLength: 65_536, description: 'What shall be reached.' }),
    scope_files: t.array(t.string({ minLength: 1, maxLength: 4096 }), {
      default: [],
      maxItems: 2000,
      description: 'Files that the plan concerns.'
    }),
    write_to_disk: t.boolean({ default: false, description: 'Whether PLAN.md is written into the project.' }),
    max_tasks: t.integer({ default: 30, minimum: 1, maximum: 2000, description: 'Maximum number of tasks.' }),
    session_id: session('Session that the plan is for.'),
    plan_depth: t.optional(planDepth),
    auto_expand_thin_plan: t.boolean({
      default: true,
      description: 'Whether a plan that is too thin is refined even if loop_mode is off.'
    }),
    loop_mode: t.enum(['off', 'auto', 'force'], {
      default: 'off',
      description: 'auto refines until the risk is below the threshold; force refines at least once.'
    }),
    max_refine_rounds: t.integer({ default: 2, minimum: 0, maximum: 8, description: 'Maximum rounds of refinement.' }),
    refine_budget_tokens: t.integer({
      default: 18_000,
      minimum: 0,
      maximum: 200_000,
      description: 'Maximum tokens of all refinements.'
    }),
    gap_risk_threshold: t.number({
      default: 0.28,
      minimum: 0.05,
      maximum: 0.95,
      description: 'Risk of gaps above which the plan is refined.'
    }),
    plan_page_offset: t.integer({ default: 0, minimum: 0, description: 'Number of tasks to skip.' }),
    plan_page_limit: t.optional(
      t.integer({ minimum: 1, maximum: 2000, description: 'Maximum number of returned tasks.' })
    ),
    plan_telemetry_session_id: session(
      'Session that is charged for the time and tokens of the model; default session_id.'
    ),
    question_link_session_id: session('Session in which a clarifying question is asked; default session_id.'),
    questioning_hints_enabled: t.boolean({
      default: true,
      description: 'Whether the user may be asked a clarifying question.'
    }),
    answerer_profile: t.optional(
      t.string({ maxLength: 1024, description: 'Reader of the plan, so that the model adapts its wording.' })
    ),
    temperature: t.optional(t.number({ minimum: 0, maximum: 2, description: 'Randomness of the draft.' })),
    top_p: t.optional(
      t.number({ minimum: 0, maximum: 1, description: 'Share of the most likely tokens to choose from.' })
    )
  }),
  output: t.object({
    goal: t.string(),
    tasks: t.array(planTask, { description: 'One page of the tasks.' }),
    summary: t.string(),
    plan_md: t.string(),
    written_to_disk: t.boolean(),
    plan_total_tasks: t.integer(),
    plan_page_offset: t.integer(),
    loop_mode_effective: t.enum(['off', 'auto', 'force']),
    refinement_rounds: t.integer(),
    loop_stop_reason: t.string(),
    last_aggregate_gap_risk: t.number(),
    gap_report: gapReport,
    plan_adequacy_score: t.number(),
    plan_too_thin: t.boolean(),
    adequacy_reason_codes: t.array(t.string()),
    plan_depth_effective: planDepth,
    clarifying_questions: t.array(t.string()),
    plan_source: t.enum(['splitter', 'model', 'stub'], { description: 'Origin of the tasks.' }),
    model_problem: t.nullable(t.string({ description: 'Why the model did not help, if it was called.' })),
    plan_session_id: t.nullable(t.string({ description: 'Id of the stored plan, to replan or resume it.' })),
    persistence: t.string({ description: 'Whether the plan is stored, and the reason if not.' }),
    qgate: qgateMeta
  }),
  errors: { PLN_ADEQUACY, PLN_FILE_REFUSED },
  effect: 'write',
  timeoutMs: PLAN_TIMEOUT_MS,
  expose: {
    mcp: {
      name: 'svc_plan',
      title: 'Plan a goal',
      result: 'tool-result',
      meta: 'qgate',
      lane: 'ai',
      toolsets: ['default', 'planning'],
      use: 'For a goal of several steps. It returns tasks and open questions; one step needs only svc_submit_task.'
    },
    cli: { command: 'plan draft', args: ['goal'], view: { markdown: 'plan_md' } }
  }
})
