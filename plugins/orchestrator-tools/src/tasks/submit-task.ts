import {
  coreHintFields,
  type EnqueueHints,
  type GoalOptions,
  hintFields,
  type Orchestrator,
  orchestrationErrors,
  requestFields,
  type SessionContext,
  type SubmitRequest,
  type TaskStatusKind
} from '@svc/contracts'
import { defined, defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies, orchestratorOf } from '../dependencies.ts'
import { category, categoryOf, files, filesOf, numberOf, priority, priorityOf, taskId } from '../fields.ts'
import { method, tool } from '../tool.ts'
import { checkHarness } from './harness.ts'
import { protocolFields, protocolRequest } from './protocol-request.ts'

const text = (maxLength: number, description?: string) =>
  t.optional(t.string({ minLength: 1, maxLength, ...(description === undefined ? {} : { description }) }))

const submitTask = defineOperation({
  id: 'orchestrator.submitTask',
  summary: "Submit a task to the fittest agent's queue",
  input: t.object({
    description: t.string({ minLength: 1, maxLength: 131_072, description: 'Description of the work.' }),
    files: { ...files, default: [] } as typeof files & { readonly default: readonly [] },
    priority: t.optional(priority),
    agent_name: requestFields.agent_name,
    capabilities: requestFields.capabilities,
    depends_on: t.optional(
      t.array(taskId, { maxItems: 1_024, description: 'Tasks that must be complete before it starts.' })
    ),
    session_id: t.optional(t.nullable(requestFields.session_id, { description: 'Session to which the task belongs.' })),
    thread_id: hintFields.thread_id,
    planning_mode: t.optional(
      t.enum(['auto', 'direct', 'force_plan', 'workflow_only'], {
        description: 'Whether the goal may become a plan; auto leaves it to the settings.'
      })
    ),
    goal_type: text(256, 'Kind of the goal, for its plan.'),
    goal_scope: text(4_096, 'Path that the goal concerns, for its plan.'),
    max_plan_depth: t.optional(
      t.integer({ minimum: 1, maximum: 64, description: 'Maximum number of tasks in the plan.' })
    ),
    retrieval: t.optional(
      t.record(t.unknown(), { description: 'Evidence found for the task, as the payload of a retrieval envelope.' })
    ),
    context_envelope_json: text(1_048_576, 'A context envelope, version 1.'),
    harness_spec_json: hintFields.harness_spec_json,
    task_category: t.optional(category),
    complexity: coreHintFields.complexity,
    model_preference: hintFields.model_preference,
    model_override: hintFields.model_override,
    campaign_id: hintFields.campaign_id,
    benchmark_tier: hintFields.benchmark_tier,
    trace_id: coreHintFields.trace_id,
    budget: hintFields.budget,
    correlation_id: hintFields.correlation_id,
    tool_hints: hintFields.tool_hints,
    research_hints: hintFields.research_hints,
    required_labels: hintFields.required_labels,
    is_detached: hintFields.is_detached,
    requires_approval: coreHintFields.requires_approval,
    active_skill: hintFields.active_skill,
    tenant_id: t.optional(t.nullable(hintFields.tenant_id, { description: 'Tenant for which the work is done.' })),
    ...protocolFields
  }),
  output: t.object({
    task_id: t.integer(),
    agent_id: t.optional(
      t.integer({ description: 'Agent of the task; absent if a daemon accepted the task and does not report it.' })
    ),
    status: t.optional(
      t.enum([
        'Queued',
        'Blocked',
        'BlockedOnApproval',
        'InProgress',
        'Completed',
        'Failed',
        'Cancelled',
        'Doubted'
      ] satisfies readonly TaskStatusKind[])
    ),
    persisted: t.optional(
      t.boolean({
        description:
          'False without a database: the task is lost when the process ends. Absent if a daemon accepted the task.'
      })
    ),
    prompt_canonicalized: t.boolean(),
    conflict_warnings: t.array(t.string()),
    original_prompt_hash: t.string({ description: 'SHA-256 of the original description, in hex.' }),
    orchestration_contract: t.optional(t.string()),
    plan_session_id: t.optional(t.string()),
    strategy: t.optional(t.string()),
    shadow_plan_adequacy: t.optional(t.record(t.unknown()))
  }),
  errors: orchestrationErrors.specs,
  expose: {
    mcp: tool('submit_task', {
      toolsets: ['default', 'tasks'],
      use: 'Name the files that are read and written. It returns at once; follow with svc_task_status. A goal of several steps: svc_plan.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks', status: 201 },
    rpc: method('submit_task'),
    cli: {
      command: 'orch submit',
      args: ['description'],
      aliases: { priority: 'p', agent_name: 'a' },
      view: {
        fields: ['task_id', 'status', 'agent_id', 'persisted', 'plan_session_id', 'strategy', 'conflict_warnings']
      }
    }
  }
})

type Input = InputOf<typeof submitTask>

function submitTaskHandler(dependencies: Dependencies): Handler<typeof submitTask> {
  const { sessions, admin } = dependencies
  return async (input, call) => {
    const orchestrator = orchestratorOf(dependencies, call)
    const surface = call.surface === 'rpc' ? 'orch.submit_task' : 'svc_submit_task'
    const origin = { surface, principal: call.principal, goal: goalOf(input) }
    const submitted = await orchestrator.submit(await requestOf(input, orchestrator, sessions), origin)
    const { task_id, agent_id, status, admission, plan, remote } = submitted
    const { durability, policy } = orchestrator
    if (remote !== true && admin?.serves === false && call.surface === 'cli' && durability.kind === 'memory')
      call.log.warn(`the task is lost when this command ends: no daemon runs, and ${durability.because}`)
    return {
      task_id,
      agent_id,
      status,
      ...(remote === true ? {} : { persisted: durability.kind === 'database' }),
      prompt_canonicalized: admission?.prompt_canonicalized ?? false,
      conflict_warnings: [...submitted.warnings],
      original_prompt_hash: admission?.original_prompt_hash ?? '',
      ...(remote !== true && policy.migration.v2_enabled ? { orchestration_contract: 'v2' } : {}),
      ...(plan?.session_id === undefined ? {} : { plan_session_id: plan.session_id }),
      ...(plan === undefined ? {} : { strategy: plan.strategy }),
      ...(plan?.shadow_adequacy === undefined ? {} : { shadow_plan_adequacy: { ...plan.shadow_adequacy } })
    }
  }
}

function goalOf({ planning_mode: mode = 'auto', goal_type, goal_scope, max_plan_depth }: Input): GoalOptions {
  return {
    mode,
    ...(goal_type === undefined ? {} : { goal_type }),
    ...(goal_scope === undefined ? {} : { goal_scope }),
    ...(max_plan_depth === undefined ? {} : { max_plan_depth })
  }
}

async function requestOf(
  input: Input,
  orchestrator: Orchestrator,
  sessions: SessionContext | undefined
): Promise<SubmitRequest> {
  const { context_envelope_json: envelope, harness_spec_json: harness, retrieval } = input
  if (envelope !== undefined && retrieval !== undefined)
    throw orchestrationErrors.create(
      'ORC_ENVELOPE_INVALID',
      'Context envelope: retrieval and context_envelope_json are both set, and both contain evidence',
      { at: { path: 'retrieval' }, hint: 'set only one of them' }
    )
  if (harness !== undefined) checkHarness(harness)
  const qgate = await evidenceOf(input, orchestrator, sessions)
  const more = protocolRequest(input)
  return defined({
    description: input.description,
    files: [...filesOf(input.files), ...more.files],
    priority: input.priority === undefined ? undefined : priorityOf(input.priority),
    agent_name: input.agent_name ?? more.agent_name,
    depends_on: input.depends_on?.map(numberOf),
    capabilities: input.capabilities ?? more.capabilities,
    session_id: input.session_id ?? undefined,
    hints: { ...more.hints, ...hintsOf(input), ...defined({ qgate }) }
  })
}

/** Returns evidence for the quality gate, from the envelope or from `retrieval`. */
async function evidenceOf(
  { context_envelope_json: json, retrieval, session_id }: Input,
  orchestrator: Orchestrator,
  sessions: SessionContext | undefined
): Promise<EnqueueHints['qgate']> {
  if (sessions === undefined) {
    if (json === undefined && retrieval === undefined) return undefined
    throw orchestrationErrors.create(
      'ORC_ENVELOPE_INVALID',
      'Context envelope: the plugin sessions, which reads envelopes, is off',
      {
        hint: 'enable the plugin sessions, or omit the envelope'
      }
    )
  }
  if (json === undefined) return retrieval === undefined ? undefined : sessions.evidence(retrieval)
  const { envelope } = await sessions.ingest(json, {
    source: 'McpSubmitTask',
    repository_id: orchestrator.repositoryId,
    ...defined({ session_id: session_id ?? undefined })
  })
  const { structured_payload: payload } = envelope.content
  return envelope.envelope_type === 'retrieval_evidence' && isRecord(payload) ? sessions.evidence(payload) : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const DECLARED = submitTask.input.properties as object
/** Hints that are also top-level fields of this operation. */
const HINTS = Object.keys({ ...coreHintFields, ...hintFields }).filter(
  field => field in DECLARED
) as (keyof EnqueueHints & keyof Input)[]

function hintsOf(input: Input): EnqueueHints {
  const category = input.task_category === undefined ? undefined : categoryOf(input.task_category)
  const copied = HINTS.flatMap(field => ((input[field] ?? null) === null ? [] : [[field, input[field]] as const]))
  return { ...Object.fromEntries(copied), ...defined({ task_category: category }) }
}

export const submission = [bound(submitTask, submitTaskHandler)]
