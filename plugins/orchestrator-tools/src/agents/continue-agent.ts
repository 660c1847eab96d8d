import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId } from '../fields.ts'
import { tool } from '../tool.ts'
import { agentOf } from './lifecycle.ts'

const STRATEGY = 'requested'

const continueAgent = defineOperation({
  id: 'orchestrator.continueAgent',
  summary: 'Give an idle agent its next task',
  input: t.object({
    agent_id: agentId,
    prompt: t.optional(
      t.string({
        minLength: 1,
        maxLength: 65_536,
        description: 'Description of the task; default: complete the remaining work.'
      })
    )
  }),
  output: t.object({
    agent_id: t.integer(),
    continued: t.boolean(),
    task_id: t.optional(t.integer()),
    message: t.string({ description: 'Result, or the reason why no task was created.' })
  }),
  errors: orchestrationErrors.specs,
  expose: {
    mcp: tool('agent_continue', {
      toolsets: ['agents'],
      use: 'Use it when an agent is idle although its queue has tasks. It starts no new agent.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/continue' },
    rpc: true,
    cli: { command: 'orch agents continue', args: ['agent_id', 'prompt'], view: { text: 'message' } }
  }
})

function continueAgentHandler({ orchestrator }: Dependencies): Handler<typeof continueAgent> {
  return async ({ agent_id, prompt }) => {
    const { id, name, paused, queued, current_task } = agentOf(orchestrator, agent_id)
    const obstacle = paused
      ? 'the agent is paused; resume it first'
      : current_task !== null || queued > 0
        ? 'the agent has work'
        : undefined
    if (obstacle !== undefined) return { agent_id: id, continued: false, message: obstacle }
    const { task_id } = await orchestrator.submit({
      description: `[Auto-Continuation] ${prompt ?? `Review the recent work of ${name}, and complete what remains.`}`,
      files: [],
      priority: 'Background',
      agent_name: name
    })
    orchestrator.emit({ type: 'continuation_triggered', agent_id: id, strategy: STRATEGY })
    return { agent_id: id, continued: true, task_id, message: `agent ${name} got task ${task_id}` }
  }
}

export const continuations = [bound(continueAgent, continueAgentHandler)]
