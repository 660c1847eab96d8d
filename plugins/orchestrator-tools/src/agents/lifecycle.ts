import { type AgentView, agentLabel, type Orchestrator, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { activity, agentId, capabilities, numberOf, taskId } from '../fields.ts'
import { tool } from '../tool.ts'

const errors = orchestrationErrors.specs

export const spawnAgent = defineOperation({
  id: 'orchestrator.spawnAgent',
  summary: 'Create an agent with a queue',
  input: t.object({
    name: t.string({ minLength: 1, maxLength: 256 }),
    dynamic: t.optional(t.boolean({ description: 'It is retired when it has been idle for long.' })),
    parent_agent_id: t.optional(agentId),
    delegation_reason: t.optional(t.string({ maxLength: 4_096 })),
    source_task_id: t.optional(taskId),
    capabilities: t.optional(capabilities)
  }),
  output: t.object({
    agent_id: t.integer(),
    name: t.string(),
    dynamic: t.boolean(),
    parent_agent_id: t.optional(t.integer())
  }),
  errors,
  expose: {
    mcp: tool('spawn_agent'),
    http: { method: 'POST', path: '/api/orchestrator/agents', status: 201 },
    rpc: true,
    cli: { command: 'orch agents spawn', args: ['name'] }
  }
})

function spawnAgentHandler({ orchestrator }: Dependencies): Handler<typeof spawnAgent> {
  return async input => {
    const { name, dynamic, parent_agent_id, delegation_reason, source_task_id, capabilities } = input
    const parent = parent_agent_id === undefined ? {} : { parent_agent_id: numberOf(parent_agent_id) }
    const source = source_task_id === undefined ? {} : { source_task_id: numberOf(source_task_id) }
    const agent = await orchestrator.spawnAgent({
      name,
      ...(dynamic === undefined ? {} : { dynamic }),
      ...parent,
      ...(delegation_reason === undefined ? {} : { reason: delegation_reason }),
      ...source,
      ...(capabilities === undefined ? {} : { capabilities })
    })
    return {
      agent_id: agent.id,
      name: agent.name,
      dynamic: agent.dynamic,
      ...(agent.parent_agent_id === undefined ? {} : { parent_agent_id: agent.parent_agent_id })
    }
  }
}

export const retireAgent = defineOperation({
  id: 'orchestrator.retireAgent',
  summary: 'Retire an agent and return its tasks',
  input: t.object({ agent_id: agentId }),
  output: t.object({
    message: t.string(),
    remaining_tasks: t.integer(),
    tasks: t.array(t.object({ task_id: t.integer(), description: t.string() }))
  }),
  errors,
  effect: 'destructive',
  expose: {
    mcp: tool('retire_agent'),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/retire' },
    rpc: true,
    cli: { command: 'orch agents retire', args: ['agent_id'], view: { text: 'message' } }
  }
})

function retireAgentHandler({ orchestrator }: Dependencies): Handler<typeof retireAgent> {
  return async ({ agent_id }) => {
    const agent = numberOf(agent_id)
    const { remaining_tasks, tasks } = await orchestrator.retireAgent(agent)
    return {
      message: `agent ${agentLabel(agent)} retired; it had ${remaining_tasks} tasks`,
      remaining_tasks,
      tasks: tasks.map(({ id, description }) => ({ task_id: id, description }))
    }
  }
}

export const pauseAgent = defineOperation({
  id: 'orchestrator.pauseAgent',
  summary: 'Pause an agent: it takes up nothing new',
  input: t.object({ agent_id: agentId }),
  output: t.string(),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('pause_agent'),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/pause' },
    rpc: true,
    cli: { command: 'orch agents pause', args: ['agent_id'] }
  }
})

function pauseAgentHandler({ orchestrator }: Dependencies): Handler<typeof pauseAgent> {
  return async ({ agent_id }) => {
    await orchestrator.pauseAgent(numberOf(agent_id))
    return 'agent paused'
  }
}

export const resumeAgent = defineOperation({
  id: 'orchestrator.resumeAgent',
  summary: 'Resume a paused agent',
  input: t.object({ agent_id: agentId }),
  output: t.string(),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('resume_agent'),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/resume' },
    rpc: true,
    cli: { command: 'orch agents resume', args: ['agent_id'] }
  }
})

function resumeAgentHandler({ orchestrator }: Dependencies): Handler<typeof resumeAgent> {
  return async ({ agent_id }) => {
    await orchestrator.resumeAgent(numberOf(agent_id))
    return 'agent resumed'
  }
}

export const drainAgent = defineOperation({
  id: 'orchestrator.drainAgent',
  summary: "Empty an agent's queue; its current task continues",
  input: t.object({ agent_id: agentId }),
  output: t.object({ drained_count: t.integer() }),
  errors,
  effect: 'destructive',
  expose: {
    mcp: tool('drain_agent'),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/drain' },
    rpc: true,
    cli: { command: 'orch agents drain', args: ['agent_id'] }
  }
})

function drainAgentHandler({ orchestrator }: Dependencies): Handler<typeof drainAgent> {
  return async ({ agent_id }) => {
    return { drained_count: await orchestrator.drainAgent(numberOf(agent_id)) }
  }
}

export const rebalance = defineOperation({
  id: 'orchestrator.rebalance',
  summary: 'Rebalance queued tasks over the agents',
  input: t.object({}),
  output: t.object({ rebalanced: t.integer({ description: 'Tasks that were moved.' }) }),
  errors,
  expose: {
    mcp: tool('rebalance'),
    http: { method: 'POST', path: '/api/orchestrator/rebalance' },
    rpc: true,
    cli: { command: 'orch queue rebalance' }
  }
})

function rebalanceHandler({ orchestrator }: Dependencies): Handler<typeof rebalance> {
  return async () => {
    return { rebalanced: await orchestrator.rebalance() }
  }
}

const mapAgentSession = defineOperation({
  id: 'orchestrator.mapAgentSession',
  summary: 'Bind an agent to a session; its messages are checked against it',
  input: t.object({ agent_id: agentId, session_id: t.string({ minLength: 1, maxLength: 2_048 }) }),
  output: t.object({ agent_id: t.integer(), session_id: t.string() }),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('map_agent_session', { aliases: ['svc_map_opencode_session', 'svc_map_vscode_session'] }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/session' },
    rpc: true,
    cli: { command: 'orch agents bind', args: ['agent_id', 'session_id'] }
  }
})

function mapAgentSessionHandler({ orchestrator }: Dependencies): Handler<typeof mapAgentSession> {
  return async ({ agent_id, session_id }) => {
    const agent = numberOf(agent_id)
    await orchestrator.bindSession(agent, session_id)
    return { agent_id: agent, session_id }
  }
}

export const heartbeat = defineOperation({
  id: 'orchestrator.heartbeat',
  summary: 'Report that an agent is alive, and its activity',
  input: t.object({ agent_id: agentId, activity: t.optional(activity) }),
  output: t.object({ ok: t.boolean() }),
  errors,
  idempotent: true,
  expose: { mcp: tool('heartbeat'), http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/heartbeat' } }
})

function heartbeatHandler({ orchestrator }: Dependencies): Handler<typeof heartbeat> {
  return ({ agent_id, activity }) => {
    orchestrator.heartbeat(agentOf(orchestrator, agent_id).id, activity ?? 'idle')
    return { ok: true }
  }
}

/** Throws `ORC_AGENT_NOT_FOUND`. */
export function agentOf(orchestrator: Orchestrator, id: number | string): AgentView {
  const agent = orchestrator.agent(numberOf(id))
  if (agent !== null) return agent
  throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(numberOf(id))} not found`, {
    hint: 'list the agents to see their numbers'
  })
}

export const lifecycle = [
  bound(spawnAgent, spawnAgentHandler),
  bound(retireAgent, retireAgentHandler),
  bound(pauseAgent, pauseAgentHandler),
  bound(resumeAgent, resumeAgentHandler),
  bound(drainAgent, drainAgentHandler),
  bound(rebalance, rebalanceHandler),
  bound(mapAgentSession, mapAgentSessionHandler),
  bound(heartbeat, heartbeatHandler)
]
