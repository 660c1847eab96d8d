import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { toolErrors } from '../errors.ts'
import { agentId } from '../fields.ts'
import { tool } from '../tool.ts'
import { assertSpeaksFor, busOf } from './questions.ts'

const { ORC_AGENT_NOT_FOUND, ORC_SESSION_MISMATCH } = orchestrationErrors.specs

const broadcast = defineOperation({
  id: 'orchestrator.broadcast',
  summary: 'Broadcast a message to every other agent',
  input: t.object({
    agent_id: agentId,
    message: t.string({ minLength: 1, maxLength: 131_072, description: 'Text of the message.' }),
    msg_type: t.string({ default: 'free_form', minLength: 1, maxLength: 128, description: 'Type of the message.' }),
    session_id: t.optional(
      t.string({
        minLength: 1,
        maxLength: 2_048,
        description: 'Session of the caller; required if the agent is bound to one.'
      })
    )
  }),
  output: t.object({ receivers: t.integer({ description: 'Number of agents that received the message.' }) }),
  errors: { ORC_AGENT_NOT_FOUND, ORC_SESSION_MISMATCH, OTL_NO_MESSAGES: toolErrors.specs.OTL_NO_MESSAGES },
  expose: {
    mcp: tool('broadcast', {
      toolsets: ['messages'],
      use: 'A short note of one agent to all others. For typed payloads use svc_a2a_broadcast, for a lasting note svc_publish_message.'
    }),
    rpc: true,
    cli: { command: 'orch messages broadcast', args: ['agent_id', 'message'] }
  }
})

function broadcastHandler({ orchestrator, bus }: Dependencies): Handler<typeof broadcast> {
  return async ({ agent_id, message, msg_type, session_id }) => {
    const agent = agentOf(orchestrator, agent_id)
    assertSpeaksFor(agent, session_id)
    return { receivers: await busOf(bus).broadcast({ sender: agent.id, msg_type, payload: message }) }
  }
}

export const broadcasts = [bound(broadcast, broadcastHandler)]
