import { type Orchestrator, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, numberOf, taskId } from '../fields.ts'
import { checkHarness } from '../tasks/harness.ts'
import { tool } from '../tool.ts'
import { agentOf } from './lifecycle.ts'

const texts = (maxLength: number) => t.optional(t.array(t.string({ minLength: 1, maxLength }), { maxItems: 1_024 }))

const agentHandoff = defineOperation({
  id: 'orchestrator.agentHandoff',
  summary: 'Hand over the work of one agent to another',
  input: t.object({
    from_agent_id: agentId,
    to_agent_id: t.optional(agentId),
    plan_summary: t.string({ minLength: 1, maxLength: 131_072 }),
    completed_tasks: t.optional(t.array(taskId, { maxItems: 4_096 })),
    pending_tasks: t.optional(t.array(taskId, { maxItems: 4_096 })),
    owned_files: texts(4_096),
    unresolved_objectives: texts(8_192),
    verification_criteria: texts(8_192),
    context_notes: t.optional(t.string({ maxLength: 131_072 })),
    execution_role: t.optional(t.enum(['planner', 'builder', 'verifier', 'reproducer', 'researcher'])),
    context_envelope_json: t.optional(t.string({ minLength: 1, maxLength: 1_048_576 })),
    harness_spec_json: t.optional(t.string({ minLength: 1, maxLength: 1_048_576 })),
    session_id: t.optional(t.string({ minLength: 1, maxLength: 2_048 })),
    a2a_context_uri: t.optional(t.string({ minLength: 1, maxLength: 4_096 })),
    obo_token: t.optional(t.secret({ minLength: 1, maxLength: 8_192 })),
    created_at: t.optional(
      t.integer({ minimum: 0, description: 'Time of the handoff in Unix milliseconds; default: now.' })
    ),
    timeout_ms: t.optional(t.integer({ minimum: 0, description: 'Milliseconds until the handoff is stale.' }))
  }),
  output: t.object({
    to_agent_id: t.integer(),
    moved_tasks: t.array(t.integer()),
    moved_files: t.array(t.string())
  }),
  errors: orchestrationErrors.specs,
  expose: { mcp: tool('agent_handoff'), http: { method: 'POST', path: '/api/orchestrator/handoffs' } }
})

type Input = InputOf<typeof agentHandoff>

function agentHandoffHandler({ orchestrator, sessions }: Dependencies): Handler<typeof agentHandoff> {
  return async input => {
    const from = agentOf(orchestrator, input.from_agent_id)
    const { harness_spec_json: harness, context_envelope_json: envelope, session_id } = input
    if (harness !== undefined) checkHarness(harness)
    if (envelope !== undefined && sessions !== undefined) {
      const session = session_id ?? from.session_id
      await sessions.ingest(envelope, {
        source: 'McpHandoffTool',
        repository_id: orchestrator.repositoryId,
        ...(session === undefined ? {} : { session_id: session })
      })
    }
    const { to_agent, moved_tasks, moved_files } = await orchestrator.handoff(handoffOf(input, from.id))
    return { to_agent_id: to_agent, moved_tasks: [...moved_tasks], moved_files: [...moved_files] }
  }
}

const COPIED = [
  'plan_summary',
  'owned_files',
  'unresolved_objectives',
  'verification_criteria',
  'context_notes',
  'a2a_context_uri',
  'obo_token',
  'created_at',
  'timeout_ms'
] as const satisfies readonly (keyof Input)[]
const METADATA = ['execution_role', 'context_envelope_json', 'harness_spec_json'] as const

function handoffOf(input: Input, from: number): Parameters<Orchestrator['handoff']>[0] {
  const copied = COPIED.flatMap(field => (input[field] === undefined ? [] : [[field, input[field]] as const]))
  const metadata = METADATA.flatMap(key => (input[key] === undefined ? [] : [[key, input[key]] as const]))
  return {
    ...Object.fromEntries(copied),
    plan_summary: input.plan_summary,
    from_agent: from,
    metadata,
    ...(input.to_agent_id === undefined ? {} : { to_agent: numberOf(input.to_agent_id) }),
    ...(input.completed_tasks === undefined ? {} : { completed_tasks: input.completed_tasks.map(numberOf) }),
    ...(input.pending_tasks === undefined ? {} : { pending_tasks: input.pending_tasks.map(numberOf) })
  }
}

export const handoffs = [bound(agentHandoff, agentHandoffHandler)]
