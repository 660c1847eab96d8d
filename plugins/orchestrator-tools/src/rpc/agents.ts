import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'

/** The daemon's methods about agents. */

const errors = orchestrationErrors.specs
const ok = t.object({ ok: t.boolean() })
const open = { additionalProperties: true }
const agent_id = t.integer({ minimum: 1 })
const name = t.string({ minLength: 1, maxLength: 256 })
const spawned = t.object({ agent_id: t.integer() })

const rpcAgentIds = defineOperation({
  id: 'orch.agent_ids',
  summary: 'List agent ids',
  input: t.object({}, open),
  output: t.object({ agent_ids: t.array(t.integer()) }),
  effect: 'read',
  expose: { rpc: true }
})

function rpcAgentIdsHandler({ local }: Dependencies): Handler<typeof rpcAgentIds> {
  return () => ({ agent_ids: local.agents().map(({ id }) => id) })
}

const rpcSpawnAgent = defineOperation({
  id: 'orch.spawn_agent',
  summary: 'Create an agent',
  input: t.object({ name }, open),
  output: spawned,
  errors,
  expose: { rpc: true }
})

function rpcSpawnAgentHandler({ local }: Dependencies): Handler<typeof rpcSpawnAgent> {
  return async ({ name }) => ({ agent_id: (await local.spawnAgent({ name })).id })
}

const rpcSpawnAgentExt = defineOperation({
  id: 'orch.spawn_agent_ext',
  summary: 'Create an agent on behalf of another one',
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

function rpcSpawnAgentExtHandler({ local }: Dependencies): Handler<typeof rpcSpawnAgentExt> {
  return async ({ name, dynamic, parent_agent_id, source_task_id, delegation_reason }) => {
    const { id } = await local.spawnAgent({
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
  summary: 'Retire an agent',
  input: t.object({ agent_id }, open),
  output: t.object({ remaining_tasks: t.integer() }),
  errors,
  effect: 'destructive',
  expose: { rpc: true }
})

function rpcRetireAgentHandler({ local }: Dependencies): Handler<typeof rpcRetireAgent> {
  return async ({ agent_id }) => ({ remaining_tasks: (await local.retireAgent(agent_id)).remaining_tasks })
}

const rpcPauseAgent = defineOperation({
  id: 'orch.pause_agent',
  summary: 'Pause an agent: it takes up nothing new',
  input: t.object({ agent_id }, open),
  output: ok,
  errors,
  idempotent: true,
  expose: { rpc: true }
})

function rpcPauseAgentHandler({ local }: Dependencies): Handler<typeof rpcPauseAgent> {
  return async ({ agent_id }) => {
    await local.pauseAgent(agent_id)
    return { ok: true }
  }
}

const rpcResumeAgent = defineOperation({
  id: 'orch.resume_agent',
  summary: 'Resume a paused agent',
  input: t.object({ agent_id }, open),
  output: ok,
  errors,
  idempotent: true,
  expose: { rpc: true }
})

function rpcResumeAgentHandler({ local }: Dependencies): Handler<typeof rpcResumeAgent> {
  return async ({ agent_id }) => {
    await local.resumeAgent(agent_id)
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

function rpcDrainAgentHandler({ local }: Dependencies): Handler<typeof rpcDrainAgent> {
  return async ({ agent_id }) => ({ drained_count: await local.drainAgent(agent_id) })
}

const rpcRebalance = defineOperation({
  id: 'orch.rebalance',
  summary: 'Rebalance queued tasks over the agents',
  input: t.object({}, open),
  output: t.object({ rebalanced: t.integer() }),
  errors,
  expose: { rpc: true }
})

function rpcRebalanceHandler({ local }: Dependencies): Handler<typeof rpcRebalance> {
  return async () => ({ rebalanced: await local.rebalance() })
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
