import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Parts } from '../parts.ts'

/** The daemon's methods about agents. */

const errors = orchestrationErrors.specs
const ok = t.object({ ok: t.boolean() })
const open = { additionalProperties: true }
const agent_id = t.integer({ minimum: 1 })
const name = t.string({ minLength: 1, maxLength: 256 })
const spawned = t.object({ agent_id: t.integer() })

const rpcAgentIds = defineOperation({
  id: 'orch.agent_ids',
  summary: 'List the numbers of the agents',
  input: t.object({}, open),
  output: t.object({ agent_ids: t.array(t.integer()) }),
  effect: 'read',
  expose: { rpc: true }
})

function rpcAgentIdsHandler({ orchestrator }: Parts): Handler<typeof rpcAgentIds> {
  return () => ({ agent_ids: orchestrator.agents().map(({ id }) => id) })
}

const rpcSpawnAgent = defineOperation({
  id: 'orch.spawn_agent',
  summary: 'Make an agent',
  input: t.object({ name }, open),
  output: spawned,
  errors,
  expose: { rpc: true }
})

function rpcSpawnAgentHandler({ orchestrator }: Parts): Handler<typeof rpcSpawnAgent> {
  return async ({ name }) => ({ agent_id: (await orchestrator.spawnAgent({ name })).id })
}

const rpcSpawnAgentExt = defineOperation({
  id: 'orch.spawn_agent_ext',
  summary: 'Make an agent that another one needs',
  input: t.object(
    {
      name,
      dynamic: t.optional(t.nullable(t.boolean())),
      parent_agent_id: t.optional(t.nullable(agent_id)),
      source_task_id: t.optional(t.nullable(t.integer({ minimum: 1 }))),
      delegation_reason: t.optional(t.nullable(t.string({ maxLength: 4_096 })))
    },
    open
  ),
  output: spawned,
  errors,
  expose: { rpc: true }
})

function rpcSpawnAgentExtHandler({ orchestrator }: Parts): Handler<typeof rpcSpawnAgentExt> {
  return async ({ name, dynamic, parent_agent_id, source_task_id, delegation_reason }) => {
    const { id } = await orchestrator.spawnAgent({
      name,
      ...(typeof dynamic === 'boolean' ? { dynamic } : {}),
      ...(typeof parent_agent_id === 'number' ? { parent_agent_id } : {}),
      ...(typeof source_task_id === 'number' ? { source_task_id } : {}),
      ...(typeof delegation_reason === 'string' ? { reason: delegation_reason } : {})
    })
    return { agent_id: id }
  }
}

const rpcRetireAgent = defineOperation({
  id: 'orch.retire_agent',
  summary: 'End an agent',
  input: t.object({ agent_id }, open),
  output: t.object({ remaining_tasks: t.integer() }),
  errors,
  effect: 'destructive',
  expose: { rpc: true }
})

function rpcRetireAgentHandler({ orchestrator }: Parts): Handler<typeof rpcRetireAgent> {
  return async ({ agent_id }) => ({ remaining_tasks: (await orchestrator.retireAgent(agent_id)).length })
}

const rpcPauseAgent = defineOperation({
  id: 'orch.pause_agent',
  summary: 'Let an agent take up nothing new',
  input: t.object({ agent_id }, open),
  output: ok,
  errors,
  idempotent: true,
  expose: { rpc: true }
})

function rpcPauseAgentHandler({ orchestrator }: Parts): Handler<typeof rpcPauseAgent> {
  return async ({ agent_id }) => {
    await orchestrator.pauseAgent(agent_id)
    return { ok: true }
  }
}

const rpcResumeAgent = defineOperation({
  id: 'orch.resume_agent',
  summary: 'Let a paused agent go on',
  input: t.object({ agent_id }, open),
  output: ok,
  errors,
  idempotent: true,
  expose: { rpc: true }
})

function rpcResumeAgentHandler({ orchestrator }: Parts): Handler<typeof rpcResumeAgent> {
  return async ({ agent_id }) => {
    await orchestrator.resumeAgent(agent_id)
    return { ok: true }
  }
}

const rpcDrainAgent = defineOperation({
  id: 'orch.drain_agent',
  summary: 'Empty the queue of an agent',
  input: t.object({ agent_id }, open),
  output: t.object({ drained_count: t.integer() }),
  errors,
  effect: 'destructive',
  expose: { rpc: true }
})

function rpcDrainAgentHandler({ orchestrator }: Parts): Handler<typeof rpcDrainAgent> {
  return async ({ agent_id }) => ({ drained_count: await orchestrator.drainAgent(agent_id) })
}

const rpcRebalance = defineOperation({
  id: 'orch.rebalance',
  summary: 'Spread what waits over the agents anew',
  input: t.object({}, open),
  output: t.object({ rebalanced: t.integer() }),
  errors,
  expose: { rpc: true }
})

function rpcRebalanceHandler({ orchestrator }: Parts): Handler<typeof rpcRebalance> {
  return async () => ({ rebalanced: await orchestrator.rebalance() })
}

export const agentMethods = [
  bound(rpcAgentIds, rpcAgentIdsHandler),
  bound(rpcSpawnAgent, rpcSpawnAgentHandler),
  bound(rpcSpawnAgentExt, rpcSpawnAgentExtHandler),
  bound(rpcRetireAgent, rpcRetireAgentHandler),
  bound(rpcPauseAgent, rpcPauseAgentHandler),
  bound(rpcResumeAgent, rpcResumeAgentHandler),
  bound(rpcDrainAgent, rpcDrainAgentHandler),
  bound(rpcRebalance, rpcRebalanceHandler)
]
