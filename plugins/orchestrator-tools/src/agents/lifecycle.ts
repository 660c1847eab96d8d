import { type AgentView, agentLabel, capabilityHints, type Orchestrator, orchestrationErrors } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies, orchestratorOf } from '../dependencies.ts'
import { activity, agentId, done, numberOf, taskId } from '../fields.ts'
import { method, tool } from '../tool.ts'

const errors = orchestrationErrors.specs

const spawnAgent = defineOperation({
  id: 'orchestrator.spawnAgent',
  summary: 'Create an agent with a queue',
  input: t.object({
    name: t.string({ minLength: 1, maxLength: 256, description: 'Name of the new agent.' }),
    dynamic: t.optional(
      t.nullable(t.boolean(), { description: 'Whether the agent is retired after a long idle time.' })
    ),
    parent_agent_id: t.optional(t.nullable(agentId)),
    delegation_reason: t.optional(
      t.nullable(t.string({ maxLength: 4_096 }), { description: 'Why the parent delegates work.' })
    ),
    source_task_id: t.optional(t.nullable(taskId)),
    capabilities: t.optional(capabilityHints)
  }),
  output: t.object({
    agent_id: t.integer(),
    name: t.string(),
    dynamic: t.boolean(),
    parent_agent_id: t.optional(t.integer())
  }),
  errors,
  expose: {
    mcp: tool('spawn_agent', {
      toolsets: ['agents'],
      use: 'Only if svc_agent_status shows none that fits: tasks find their agent by themselves.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents', status: 201 },
    rpc: method('spawn_agent', 'spawn_agent_ext'),
    cli: { command: 'orch agents spawn', args: ['name'] }
  }
})

function spawnAgentHandler(dependencies: Dependencies): Handler<typeof spawnAgent> {
  return async ({ name, dynamic, parent_agent_id, delegation_reason, source_task_id, capabilities }, call) => {
    const request = defined({
      name,
      dynamic: dynamic ?? undefined,
      parent_agent_id: optionalNumber(parent_agent_id),
      reason: delegation_reason ?? undefined,
      source_task_id: optionalNumber(source_task_id),
      capabilities
    })
    const agent = await orchestratorOf(dependencies, call).spawnAgent(request)
    return defined({
      agent_id: agent.id,
      name: agent.name,
      dynamic: agent.dynamic,
      parent_agent_id: agent.parent_agent_id
    })
  }
}

function optionalNumber(id: number | string | null | undefined): number | undefined {
  return id === undefined || id === null ? undefined : numberOf(id)
}

const retireAgent = defineOperation({
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
    mcp: tool('retire_agent', {
      toolsets: ['agents'],
      use: 'The agent ends for good. To stop it for a while use svc_pause_agent.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/retire' },
    rpc: method('retire_agent'),
    cli: { command: 'orch agents retire', args: ['agent_id'], view: { text: 'message' } }
  }
})

function retireAgentHandler(dependencies: Dependencies): Handler<typeof retireAgent> {
  return async ({ agent_id }, call) => {
    const agent = numberOf(agent_id)
    const { remaining_tasks, tasks } = await orchestratorOf(dependencies, call).retireAgent(agent)
    return {
      message: `agent ${agentLabel(agent)} retired; ${remaining_tasks} of its tasks were cancelled`,
      remaining_tasks,
      tasks: tasks.map(({ id, description }) => ({ task_id: id, description }))
    }
  }
}

const pauseAgent = defineOperation({
  id: 'orchestrator.pauseAgent',
  summary: 'Pause an agent: it starts no new tasks',
  input: t.object({ agent_id: agentId }),
  output: done,
  errors,
  idempotent: true,
  expose: {
    mcp: tool('pause_agent', {
      answer: 'message',
      toolsets: ['agents'],
      use: 'The current task ends normally. svc_resume_agent continues; svc_drain_agent also removes waiting tasks.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/pause', answer: 'message' },
    rpc: method('pause_agent'),
    cli: { command: 'orch agents pause', args: ['agent_id'], view: { answer: 'message' } }
  }
})

function pauseAgentHandler(dependencies: Dependencies): Handler<typeof pauseAgent> {
  return async ({ agent_id }, call) => {
    await orchestratorOf(dependencies, call).pauseAgent(numberOf(agent_id))
    return { ok: true, message: 'agent paused' }
  }
}

const resumeAgent = defineOperation({
  id: 'orchestrator.resumeAgent',
  summary: 'Resume a paused agent',
  input: t.object({ agent_id: agentId }),
  output: done,
  errors,
  idempotent: true,
  expose: {
    mcp: tool('resume_agent', {
      answer: 'message',
      toolsets: ['agents'],
      use: 'Undoes svc_pause_agent. An idle agent that was not paused: svc_agent_continue.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/resume', answer: 'message' },
    rpc: method('resume_agent'),
    cli: { command: 'orch agents resume', args: ['agent_id'], view: { answer: 'message' } }
  }
})

function resumeAgentHandler(dependencies: Dependencies): Handler<typeof resumeAgent> {
  return async ({ agent_id }, call) => {
    await orchestratorOf(dependencies, call).resumeAgent(numberOf(agent_id))
    return { ok: true, message: 'agent resumed' }
  }
}

const drainAgent = defineOperation({
  id: 'orchestrator.drainAgent',
  summary: "Empty an agent's queue; its current task continues",
  input: t.object({ agent_id: agentId }),
  output: t.object({ drained_count: t.integer() }),
  errors,
  effect: 'destructive',
  expose: {
    mcp: tool('drain_agent', {
      toolsets: ['agents'],
      use: 'Removes waiting tasks from one queue. To keep them, move them with svc_rebalance; to stop for a while, svc_pause_agent.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/drain' },
    rpc: method('drain_agent'),
    cli: { command: 'orch agents drain', args: ['agent_id'] }
  }
})

function drainAgentHandler(dependencies: Dependencies): Handler<typeof drainAgent> {
  return async ({ agent_id }, call) => {
    return { drained_count: await orchestratorOf(dependencies, call).drainAgent(numberOf(agent_id)) }
  }
}

const rebalance = defineOperation({
  id: 'orchestrator.rebalance',
  summary: 'Rebalance queued tasks over the agents',
  input: t.object({}),
  output: t.object({ rebalanced: t.integer({ description: 'Number of moved tasks.' }) }),
  errors,
  expose: {
    mcp: tool('rebalance', {
      toolsets: ['agents'],
      use: 'Use it when one agent has many waiting tasks and others none. It moves no running task.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/rebalance' },
    rpc: method('rebalance'),
    cli: { command: 'orch queue rebalance' }
  }
})

function rebalanceHandler(dependencies: Dependencies): Handler<typeof rebalance> {
  return async (_, call) => {
    return { rebalanced: await orchestratorOf(dependencies, call).rebalance() }
  }
}

const mapAgentSession = defineOperation({
  id: 'orchestrator.mapAgentSession',
  summary: 'Bind an agent to a session; its messages are checked against it',
  input: t.object({
    agent_id: agentId,
    session_id: t.string({ minLength: 1, maxLength: 2_048, description: 'Id of the session.' })
  }),
  output: t.object({ agent_id: t.integer(), session_id: t.string() }),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('map_agent_session', {
      aliases: ['svc_map_opencode_session', 'svc_map_vscode_session'],
      toolsets: ['agents'],
      use: 'Call it once when an editor takes the role of an agent. A new session: svc_session_create.'
    }),
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

const heartbeat = defineOperation({
  id: 'orchestrator.heartbeat',
  summary: 'Report that an agent is alive, and its activity',
  input: t.object({ agent_id: agentId, activity: t.optional(activity) }),
  output: t.object({ ok: t.boolean() }),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('heartbeat', {
      toolsets: ['agents'],
      use: 'An external agent calls it every few seconds, or its tasks are given to others.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/agents/:agent_id/heartbeat' }
  }
})

function heartbeatHandler({ orchestrator }: Dependencies): Handler<typeof heartbeat> {
  return ({ agent_id, activity }) => {
    orchestrator.heartbeat(agentOf(orchestrator, agent_id).id, activity ?? 'idle')
    return { ok: true }
  }
}

/** Returns an agent. Throws `ORC_AGENT_NOT_FOUND`. */
export function agentOf(orchestrator: Orchestrator, id: number | string): AgentView {
  const agent = orchestrator.agent(numberOf(id))
  if (agent !== null) return agent
  throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(numberOf(id))} not found`, {
    hint: 'list the agents to see their ids'
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
