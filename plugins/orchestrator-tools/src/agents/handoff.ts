import { type Orchestrator, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, numberOf, taskId } from '../fields.ts'
import { checkHarness } from '../tasks/harness.ts'
import { tool } from '../tool.ts'
import { agentOf } from './lifecycle.ts'

const texts = (maxLength: number, description: string) =>
  t.optional(t.array(t.string({ minLength: 1, maxLength }), { maxItems: 1_024, description }))

const agentHandoff = defineOperation({
  id: 'orchestrator.agentHandoff',
  summary: 'Hand over the work of one agent to another',
  input: t.object({
    from_agent_id: agentId,
    to_agent_id: t.optional(agentId),
    plan_summary: t.string({ minLength: 1, maxLength: 131_072, description: 'Summary of the work and its state.' }),
    completed_tasks: t.optional(t.array(taskId, { maxItems: 4_096, description: 'Ids of completed tasks.' })),
    pending_tasks: t.optional(
      t.array(taskId, { maxItems: 4_096, description: 'Ids of tasks that the receiver continues.' })
    ),
    owned_files: texts(4_096, 'Files that move to the receiver.'),
    unresolved_objectives: texts(8_192, 'What is still open.'),
    verification_criteria: texts(8_192, 'How the receiver can check the result.'),
    context_notes: t.optional(t.string({ maxLength: 131_072, description: 'Further notes for the receiver.' })),
    execution_role: t.optional(
      t.enum(['planner', 'builder', 'verifier', 'reproducer', 'researcher'], {
        description: 'Role in which the receiver works.'
      })
    ),
    context_envelope_json: t.optional(
      t.string({ minLength: 1, maxLength: 1_048_576, description: 'A context envelope, version 1, as JSON.' })
    ),
    harness_spec_json: t.optional(
      t.string({ minLength: 1, maxLength: 1_048_576, description: 'A harness specification as JSON.' })
    ),
    session_id: t.optional(
      t.string({ minLength: 1, maxLength: 2_048, description: 'Session of the envelope; default: that of the agent.' })
    ),
    a2a_context_uri: t.optional(t.string({ minLength: 1, maxLength: 4_096, description: 'URI of further context.' })),
    obo_token: t.optional(
      t.secret({ minLength: 1, maxLength: 8_192, description: 'Token that proves on whose behalf the agent works.' })
    ),
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
  expose: {
    mcp: tool('agent_handoff', {
      toolsets: ['agents'],
      use: 'Moves unfinished tasks and files. Read svc_handoff_context first; svc_retire_agent ends an agent instead.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/handoffs' }
  }
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
