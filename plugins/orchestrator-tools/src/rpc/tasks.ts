import {
  type Attestation,
  type EnqueueHints,
  orchestrationErrors,
  type Priority,
  type SubmitRequest,
  taskStatusToWire
} from '@svc/contracts'
import { defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import {
  attestationFields,
  benchmarkTier,
  budget,
  capabilities,
  category,
  categoryOf,
  filesOf,
  priorityOf
} from '../fields.ts'
import { found } from '../tasks/view-task.ts'

/**
 * The daemon's methods about tasks. They take and give what the protocol says, which is not quite what the tools do; behind both
 * stands the same local. Fields that are not known are ignored, as peers of other versions send them.
 */

const errors = orchestrationErrors.specs
const ok = t.object({ ok: t.boolean() })
const open = { additionalProperties: true }
const task_id = t.integer({ minimum: 1 })
const access = t.enum(['read', 'write', 'Read', 'Write'])
const priority = t.string({ pattern: '^(?:[Uu]rgent|[Nn]ormal|[Bb]ackground)$' })
const words = t.array(t.string({ maxLength: 1_024 }), { maxItems: 256 })
const text = (maxLength: number) => t.optional(t.nullable(t.string({ minLength: 1, maxLength })))

const hints = t.object(
  {
    task_category: t.optional(category),
    complexity: t.optional(t.integer({ minimum: 1, maximum: 10 })),
    trace_id: t.optional(t.string({ maxLength: 256 })),
    correlation_id: t.optional(t.string({ maxLength: 256 })),
    budget: t.optional(budget),
    model_preference: t.optional(t.string({ maxLength: 256 })),
    model_override: t.optional(t.string({ maxLength: 256 })),
    campaign_id: t.optional(t.string({ maxLength: 256 })),
    benchmark_tier: t.optional(benchmarkTier),
    execution_role: t.optional(t.enum(['planner', 'builder', 'verifier', 'reproducer', 'researcher'])),
    thread_id: t.optional(t.string({ maxLength: 256 })),
    harness_spec_json: t.optional(t.string({ maxLength: 1_048_576 })),
    tool_hints: t.optional(words),
    research_hints: t.optional(words),
    required_labels: t.optional(words),
    is_detached: t.optional(t.boolean()),
    requires_approval: t.optional(t.boolean()),
    active_skill: t.optional(t.string({ maxLength: 256 })),
    tenant_id: t.optional(t.string({ maxLength: 256 }))
  },
  open
)
const HINTS = Object.keys(hints.properties as object) as (keyof EnqueueHints)[]

const rpcSubmitTask = defineOperation({
  id: 'orch.submit_task',
  summary: 'Submit a task',
  input: t.object(
    {
      description: t.string({ minLength: 1, maxLength: 131_072 }),
      file_manifest: t.optional(
        t.array(t.object({ path: t.string({ minLength: 1, maxLength: 4_096 }), access }, open), { maxItems: 4_096 })
      ),
      priority: t.optional(priority),
      target_agent: text(256),
      capability_requirements: t.optional(t.nullable(capabilities)),
      enqueue_hints: t.optional(t.nullable(hints)),
      session_id: text(2_048),
      tenant_id: text(256)
    },
    open
  ),
  output: t.object({
    task_id: t.integer(),
    agent_id: t.integer(),
    status: t.enum(['Queued', 'Blocked', 'BlockedOnApproval'])
  }),
  errors,
  expose: { rpc: true }
})

function rpcSubmitTaskHandler({ local }: Dependencies): Handler<typeof rpcSubmitTask> {
  return async (input, { principal }) => {
    const origin = { surface: rpcSubmitTask.id, principal }
    const { task_id, agent_id, status } = await local.submit(requestOf(input), origin)
    return { task_id, agent_id, status }
  }
}

function requestOf(input: InputOf<typeof rpcSubmitTask>): SubmitRequest {
  const { file_manifest = [], target_agent, capability_requirements, session_id } = input
  const files = file_manifest.map(({ path, access }) => ({ path, access: access.toLowerCase() as 'read' | 'write' }))
  return {
    description: input.description,
    files: filesOf(files),
    hints: hintsOf(input),
    ...(input.priority === undefined ? {} : { priority: rpcPriority(input.priority) }),
    ...(typeof target_agent === 'string' ? { agent_name: target_agent } : {}),
    ...(capability_requirements ? { capabilities: capability_requirements } : {}),
    ...(typeof session_id === 'string' ? { session_id } : {})
  }
}

function hintsOf({ enqueue_hints, tenant_id }: InputOf<typeof rpcSubmitTask>): EnqueueHints {
  const given = (enqueue_hints ?? {}) as EnqueueHints
  const known = HINTS.flatMap(key => (given[key] === undefined ? [] : [[key, given[key]] as const]))
  const category = given.task_category === undefined ? undefined : categoryOf(given.task_category)
  return {
    ...Object.fromEntries(known),
    ...(category === undefined ? {} : { task_category: category }),
    ...(typeof tenant_id === 'string' ? { tenant_id } : {})
  }
}

function rpcPriority(word: string): Priority {
  return priorityOf(word.toLowerCase() as 'urgent' | 'normal' | 'background')
}

const rpcTaskStatus = defineOperation({
  id: 'orch.task_status',
  summary: 'Show the state of a task',
  input: t.object({ task_id }, open),
  output: t.object({ status: t.string(), detail: t.unknown({ description: 'The same with its reason.' }) }),
  errors,
  effect: 'read',
  expose: { rpc: true }
})

function rpcTaskStatusHandler({ local }: Dependencies): Handler<typeof rpcTaskStatus> {
  return ({ task_id }) => {
    const { status } = found(local, task_id)
    return { status: status.kind, detail: taskStatusToWire(status) }
  }
}

const rpcCompleteTask = defineOperation({
  id: 'orch.complete_task',
  summary: 'Complete a task',
  input: t.object(
    {
      task_id,
      attestation: t.optional(t.nullable(t.object({ ...attestationFields, observation_summary: text(131_072) }, open)))
    },
    open
  ),
  output: ok,
  errors,
  expose: { rpc: true }
})

function rpcCompleteTaskHandler({ local }: Dependencies): Handler<typeof rpcCompleteTask> {
  return async ({ task_id, attestation }) => {
    await local.complete(task_id, (attestation ?? undefined) as Attestation | undefined)
    return { ok: true }
  }
}

const rpcFailTask = defineOperation({
  id: 'orch.fail_task',
  summary: 'Fail a task',
  input: t.object({ task_id, reason: t.string({ minLength: 1, maxLength: 131_072 }) }, open),
  output: ok,
  errors,
  expose: { rpc: true }
})

function rpcFailTaskHandler({ local }: Dependencies): Handler<typeof rpcFailTask> {
  return async ({ task_id, reason }) => {
    await local.fail(task_id, reason)
    return { ok: true }
  }
}

const rpcCancelTask = defineOperation({
  id: 'orch.cancel_task',
  summary: 'Cancel a task',
  input: t.object({ task_id }, open),
  output: ok,
  errors,
  effect: 'destructive',
  expose: { rpc: true }
})

function rpcCancelTaskHandler({ local }: Dependencies): Handler<typeof rpcCancelTask> {
  return async ({ task_id }) => {
    await local.cancel(task_id)
    return { ok: true }
  }
}

const rpcReorderTask = defineOperation({
  id: 'orch.reorder_task',
  summary: 'Change the priority of a queued task',
  input: t.object({ task_id, priority }, open),
  output: ok,
  errors,
  expose: { rpc: true }
})

function rpcReorderTaskHandler({ local }: Dependencies): Handler<typeof rpcReorderTask> {
  return async ({ task_id, priority }) => {
    await local.reorder(task_id, rpcPriority(priority))
    return { ok: true }
  }
}

export const taskMethods = [
  bound(rpcSubmitTask, rpcSubmitTaskHandler),
  bound(rpcTaskStatus, rpcTaskStatusHandler),
  bound(rpcCompleteTask, rpcCompleteTaskHandler),
  bound(rpcFailTask, rpcFailTaskHandler),
  bound(rpcCancelTask, rpcCancelTaskHandler),
  bound(rpcReorderTask, rpcReorderTaskHandler)
]
