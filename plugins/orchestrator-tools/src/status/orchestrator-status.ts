import { type AgentFleet, agentLabel, type OrchestratorStatus, orchestrationErrors } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import type { DaemonPilot } from '../pilot/daemon-pilot.ts'
import { method, tool } from '../tool.ts'
import { readSections } from './sections.ts'

const agentRow = t.object(
  {
    id: t.integer(),
    name: t.string(),
    queued: t.integer(),
    in_progress: t.boolean(),
    completed: t.integer(),
    paused: t.boolean(),
    max_handoff_count: t.integer()
  },
  { additionalProperties: true }
)

const orchestratorStatus = defineOperation({
  id: 'orchestrator.status',
  summary: 'Show agents, queues, locks and durability',
  input: t.object({}),
  output: t.object(
    {
      enabled: t.boolean(),
      agent_count: t.integer(),
      in_progress: t.integer(),
      completed: t.integer(),
      agents: t.array(agentRow),
      markdown_summary: t.string(),
      text: t.string({ description: 'Plain-text summary in two lines.' })
    },
    { additionalProperties: true }
  ),
  effect: 'read',
  expose: {
    mcp: tool('orchestrator_status', { readRole: true }),
    http: { method: 'GET', path: '/api/orchestrator/status' },
    rpc: method('status'),
    cli: {
      command: 'orch status',
      view: {
        rows: 'agents',
        columns: ['id', 'name', 'queued', 'current_task', 'weighted_load', 'trust', 'trust_tier'],
        note: 'text'
      }
    }
  }
})

function orchestratorStatusHandler({
  local,
  pilot,
  fleet,
  sections,
  context
}: Dependencies): Handler<typeof orchestratorStatus> {
  return async (_, { signal, surface }) => {
    const status = local.status()
    const { running, workers } = fleetState(fleet)
    return {
      ...(await readSections(sections(), signal)),
      ...reportOf(status),
      in_progress: status.total_in_progress,
      completed: status.total_completed,
      context_entries: context?.size ?? 0,
      execution_mode: executionMode(running),
      worker_runtime_attached: running,
      registered_worker_processes: workers,
      db_configured: status.durability.kind === 'database',
      event_feed_mode: status.durability.kind === 'database' ? 'codex_and_transient' : 'transient_only',
      ...(surface === 'rpc' ? {} : await daemonStatus(pilot, signal)),
      markdown_summary: markdownSummary(status, running),
      text: summaryLines(status, running).join('\n')
    }
  }
}

/** Returns the status with the field names of the daemon's protocol added. */
export function reportOf({ agents, ...status }: OrchestratorStatus) {
  return {
    ...status,
    agents: agents.map(agent => ({
      ...agent,
      in_progress: agent.current_task !== null,
      doubted_count: agent.doubted,
      urgent_count: agent.urgent,
      normal_count: agent.normal,
      background_count: agent.background,
      ...defined({ agent_session_id: agent.session_id })
    }))
  }
}

/** Returns whether agents of this process claim tasks, their number, and their processors. */
export function fleetState(fleet: Dependencies['fleet']): Pick<AgentFleet, 'running' | 'workers' | 'processors'> {
  return fleet?.available ?? { running: false, workers: 0, processors: [] }
}

export function executionMode(running: boolean): 'queue_only' | 'workers_attached' {
  return running ? 'workers_attached' : 'queue_only'
}

async function daemonStatus(pilot: DaemonPilot, signal: AbortSignal): Promise<Record<string, unknown>> {
  if (!(await pilot.steers('status_tool'))) return {}
  try {
    return { daemon_orch_status: await pilot.call('orch.status', {}, signal) }
  } catch (error) {
    return { daemon_orch_status_rpc_error: (error as Error).message }
  }
}

function workState({ stopped, enabled }: OrchestratorStatus, running: boolean): string {
  if (stopped) return 'no task starts until svc orch start'
  if (!enabled) return 'no task is accepted while [orchestrator] enabled is false'
  return running ? 'agents claim tasks' : 'tasks wait until a client completes them'
}

function summaryLines(status: OrchestratorStatus, running: boolean): string[] {
  const { durability } = status
  const where =
    durability.kind === 'database' ? `durable in ${durability.location}` : `in memory only: ${durability.because}`
  const state = status.stopped ? 'Stopped' : status.enabled ? 'Running' : 'Disabled'
  const lines = [
    `${state}, ${where}; ${workState(status, running)}.`,
    `${status.total_queued} queued, ${status.total_in_progress} in progress, ${status.total_blocked} blocked, ` +
      `${status.total_blocked_on_approval} wait for approval, ${status.total_doubted} doubted, ` +
      `${status.total_completed} completed, ${status.total_failed} failed; ${status.locked_files} files locked.`
  ]
  const { failing, pending } = status.outbox
  if (failing !== null)
    lines.push(
      pending === 0 ? `Tasks are rejected: ${failing}` : `${pending} changes wait for the database: ${failing}`
    )
  return lines
}

function markdownSummary(status: OrchestratorStatus, running: boolean): string {
  const [first = '', ...others] = summaryLines(status, running)
  const lines = [first.replace(/^\w+/, '**$&**'), ...others.flatMap(line => ['', line])]
  if (status.agents.length > 0) {
    lines.push('', '| agent | name | queued | working on | load | trust |', '|---|---|---|---|---|---|')
    for (const agent of status.agents) {
      const working = agent.current_task === null ? (agent.paused ? 'paused' : '') : String(agent.current_task)
      const trust = `${agent.trust.toFixed(2)} ${agent.trust_tier}`
      const load = agent.weighted_load.toFixed(1)
      lines.push(`| ${agentLabel(agent.id)} | ${agent.name} | ${agent.queued} | ${working} | ${load} | ${trust} |`)
    }
  }
  return lines.join('\n')
}

const emergencyStop = defineOperation({
  id: 'orchestrator.emergencyStop',
  summary: 'Emergency stop: accept and start no tasks until start',
  input: t.object({ reason: t.optional(t.string({ maxLength: 4_096 })) }),
  output: t.object({ stopped: t.boolean() }),
  errors: orchestrationErrors.specs,
  effect: 'destructive',
  expose: {
    mcp: tool('emergency_stop'),
    http: { method: 'POST', path: '/api/orchestrator/stop' },
    rpc: true,
    cli: { command: 'orch stop', args: ['reason'] }
  }
})

function emergencyStopHandler({ orchestrator }: Dependencies): Handler<typeof emergencyStop> {
  return async ({ reason }) => {
    await orchestrator.emergencyStop(reason ?? null)
    return { stopped: true }
  }
}

const agentStatus = defineOperation({
  id: 'orchestrator.agentStatus',
  summary: 'List the agents',
  input: t.object({}),
  output: t.object({ agents: t.array(t.record(t.unknown())) }),
  effect: 'read',
  expose: {
    mcp: tool('agent_status'),
    http: { method: 'GET', path: '/api/orchestrator/agents' },
    rpc: true,
    cli: {
      command: 'orch agents list',
      view: { rows: 'agents', columns: ['id', 'name', 'queued', 'current_task', 'completed', 'paused', 'trust_tier'] }
    }
  }
})

function agentStatusHandler({ orchestrator }: Dependencies): Handler<typeof agentStatus> {
  return () => ({ agents: orchestrator.agents().map(agent => ({ ...agent })) })
}

export const statusOperations = [
  bound(orchestratorStatus, orchestratorStatusHandler),
  bound(emergencyStop, emergencyStopHandler),
  bound(agentStatus, agentStatusHandler)
]
