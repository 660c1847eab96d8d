import { type Infer, type Schema, t } from '@svc/plugin-sdk'
import type { RemoteAttestation } from '../mesh/remote-attestation.ts'
import type {
  ApprovalTier,
  ExecutionRole,
  FileAffinity,
  PlacementReason,
  Priority,
  QgateContext,
  RemoteDelegate,
  RemoteOrigin,
  TaskCategory,
  TaskPhase,
  TaskStatus,
  TaskTurn,
  TestDecision
} from './task.ts'

/*
 * The fields of a task, each declared once. The types of requests, hints and views, the input of operations and the
 * stored record are derived from these tables. A new optional field is one new line here.
 */

const text = (maxLength: number, description?: string) =>
  t.optional(t.string({ minLength: 1, maxLength, ...(description === undefined ? null : { description }) }))
const words = (description: string) =>
  t.optional(t.array(t.string({ minLength: 1, maxLength: 1_024 }), { maxItems: 256, description }))
/** A field that only code sets. */
const internal = <A>() => t.optional(t.unknown()) as Schema<A> & { readonly '~optional': true }

interface CapabilityBounds {
  readonly text: { readonly minLength?: number; readonly maxLength?: number }
  /** Limits of names from a small set, such as `arch` and `routing_tier`. */
  readonly word: { readonly minLength?: number; readonly maxLength?: number }
  readonly cores: { readonly minimum: number }
  readonly labels: { readonly maxItems?: number }
}

const capabilityFields = ({ text, word, cores, labels }: CapabilityBounds) => ({
  gpu_cuda: t.optional(t.boolean()),
  gpu_metal: t.optional(t.boolean()),
  gpu_vulkan: t.optional(t.boolean()),
  gpu_webgpu: t.optional(t.boolean()),
  npu: t.optional(t.boolean()),
  visus_eligible: t.optional(t.boolean()),
  multi_modal: t.optional(t.boolean()),
  device_class: t.optional(t.string(text)),
  min_vram_mb: t.optional(t.integer({ minimum: 0, description: 'Mebibytes.' })),
  cpu_cores: t.optional(t.integer(cores)),
  arch: t.optional(t.string(word)),
  hostname: t.optional(t.string(text)),
  labels: t.optional(t.array(t.string(text), labels)),
  min_cpu_cores: t.optional(t.integer({ minimum: 0 })),
  prefer_gpu_compute: t.optional(t.boolean()),
  routing_tier: t.optional(t.string(word)),
  is_low_confidence_bypass_blocked: t.optional(t.boolean()),
  force_qgate_research: t.optional(t.boolean())
})

/** Capabilities of an agent's host, or requirements of a task. An absent boolean means false. */
export const capabilityHints = t.object(
  capabilityFields({
    text: { maxLength: 256 },
    word: { maxLength: 64 },
    cores: { minimum: 0 },
    labels: { maxItems: 256 }
  }),
  {
    description:
      'Preferred capabilities of the agent. A missing capability lowers the score, but does not exclude the agent.'
  }
)

/** Capabilities in settings, with stricter limits: at least one core, and no empty strings. */
export const declaredCapabilities = t.object(
  capabilityFields({ text: { minLength: 1 }, word: { minLength: 1 }, cores: { minimum: 1 }, labels: {} })
)

const budget = t.object(
  {
    max_cost_usd: t.optional(t.number({ minimum: 0, description: 'In US dollars.' })),
    max_latency_ms: t.optional(t.integer({ minimum: 0, description: 'In milliseconds.' }))
  },
  { description: 'Maximum cost and latency of the task, as JSON: max_cost_usd, max_latency_ms.' }
)

const benchmarkTier = t.enum(['issue_repair', 'subsystem_regen', 'crate_regen', 'repo_regen'], {
  description: 'Size of the benchmark to which the task belongs.'
})

/** Optional fields that a submit request sets. */
export const requestFields = {
  session_id: text(2_048, 'Session to which the task belongs.'),
  agent_name: text(256, 'Name of the agent for the task; the agent is created if it does not exist.'),
  capabilities: t.optional(capabilityHints),
  plan: internal<PlanStep>(),
  remote_origin: internal<RemoteOrigin>(),
  /** Whether `completion_summary` is kept for the client. */
  keep_summary: internal<boolean>(),
  execution_policy_json: internal<string>(),
  /** Names of checks that a human reviewer has already made, for example `human_review_approved`. */
  approvals: internal<readonly string[]>()
}

/** Optional fields that the hints of a request set. */
export const hintFields = {
  tenant_id: text(256, 'Tenant for which the work is done.'),
  thread_id: text(256, 'Conversation to which the task belongs.'),
  model_preference: text(256, 'Model for the task, unless model_override is set.'),
  model_override: text(256, 'Model for the task; takes precedence over model_preference.'),
  budget: t.optional(budget),
  qgate: internal<QgateContext>(),
  harness_spec_json: text(1_048_576, 'An agent harness, version 1.'),
  active_skill: text(256, 'Skill in whose success rate the task counts.'),
  required_labels: words('Labels for the choice of the agent.'),
  correlation_id: text(256, 'Id of the request in another system.'),
  attachment_manifest: internal<unknown>(),
  is_detached: t.optional(t.boolean({ description: 'Whether the client does not wait for the result.' })),
  tool_hints: words('Tools that the agent is offered first.'),
  research_hints: words('Hints for research, such as sources.'),
  campaign_id: text(256, 'Campaign to which the task belongs.'),
  benchmark_tier: t.optional(benchmarkTier)
}

/** Hints for fields that every task has. */
export const coreHintFields = {
  complexity: t.optional(t.integer({ minimum: 1, maximum: 10, description: 'Difficulty of the work, 1 to 10.' })),
  trace_id: text(256, 'Trace id of the work.'),
  execution_role: t.optional(
    t.enum<ExecutionRole, object>(['planner', 'builder', 'verifier', 'reproducer', 'researcher'])
  ),
  requires_approval: t.optional(t.boolean({ description: 'The task waits until a user approves it.' }))
}

/** Optional fields that the orchestrator sets. */
const stateFields = {
  phase: internal<TaskPhase>(),
  remote: internal<RemoteDelegate>(),
  /** Why a task was not placed on another machine, or no longer is; at most 240 characters. */
  placement_detail: internal<string>(),
  audit_report: internal<string>(),
  /** Summary of the completion, at most 16,000 characters. Only for a client or another machine that gets it as result. */
  completion_summary: internal<string>(),
  /** Claims of the completion. Only for a task of another machine, which gets them with the result. */
  attestation: internal<RemoteAttestation>(),
  /** The last 10 turns. */
  transcript: internal<readonly TaskTurn[]>(),
  /** The last 20 observations. */
  observations: internal<readonly string[]>()
}

/** Every optional field of a task. */
export const taskFields = { ...requestFields, ...hintFields, ...stateFields }

/** Optional fields that a view of a task leaves out. */
export const hiddenTaskFields = [
  'agent_name',
  'approvals',
  'required_labels',
  'correlation_id',
  'attachment_manifest',
  'is_detached'
] as const satisfies readonly (keyof typeof taskFields)[]

/** Counters of a task. `recoveries`: how often its process ended while the task was in progress. */
export const taskCounters = [
  'debug_iterations',
  'stubcheck_iterations',
  'qgate_iterations',
  'retry_count',
  'handoff_count',
  'recoveries'
] as const

export type CapabilityHints = Frozen<Infer<typeof capabilityHints>>
export type TaskBudget = Frozen<Infer<typeof budget>>
export type BenchmarkTier = Infer<typeof benchmarkTier>
export type TaskCounter = (typeof taskCounters)[number]
/** The optional fields of a task, with their values. */
export type TaskFields = Values<typeof taskFields>
export type RequestFields = Values<typeof requestFields>
export type HintFields = Values<typeof hintFields> & Values<typeof coreHintFields>
type ShownFields = Omit<TaskFields, (typeof hiddenTaskFields)[number]>

/** Step of a plan that a task works on. */
export interface PlanStep {
  readonly session_id: string
  readonly node_id: string
  readonly version: number
}

/** Public view of a task. Times are Unix milliseconds. */
export interface TaskView extends ShownFields, Readonly<Record<TaskCounter, number>> {
  readonly id: number
  readonly description: string
  readonly status: TaskStatus
  readonly priority: Priority
  /** Agent whose queue contains the task, or contained it when the task ended. */
  readonly agent_id: number
  readonly files: readonly FileAffinity[]
  readonly depends_on: readonly number[]
  /** 1 to 10. */
  readonly complexity: number
  readonly category: TaskCategory
  readonly role: ExecutionRole
  readonly created_at_ms: number
  readonly started_at_ms?: number
  readonly ended_at_ms?: number
  readonly trace_id: string
  readonly placement_reason: PlacementReason
  readonly approval_tier?: ApprovalTier
  readonly attention_weight?: number
  readonly test_decision?: TestDecision
}

type Values<F> = { readonly [K in keyof F]?: Frozen<Infer<F[K]>> }

type Frozen<A> = A extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : A extends object
    ? { readonly [K in keyof A]: Frozen<A[K]> }
    : A
