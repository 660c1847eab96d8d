import {
  type AgentFleet,
  agentLabel,
  type OrchestratorStatus,
  orchestrationErrors,
  type ProcessTasks,
  processLabel
} from '@svc/contracts'
import { defined, defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import type { DaemonPilot } from '../pilot/daemon-pilot.ts'
import { holderFields, holderOf, incomplete, own, processFields } from '../tasks/holder.ts'
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

const processRow = t.object({
  ...processFields,
  label: t.string({ description: 'For example 4711 on box.' }),
  agents: t.integer(),
  queued: t.integer(),
  in_progress: t.integer(),
  blocked: t.integer(),
  blocked_on_approval: t.integer(),
  doubted: t.integer(),
  completed: t.integer(),
  failed: t.integer(),
  cancelled: t.integer()
})
export type ProcessReport = Infer<typeof processRow>

const orchestratorStatus = defineOperation({
  id: 'orchestrator.status',
  summary: 'Show agents, queues, locks, durability and the other processes',
  input: t.object({ own }),
  output: t.object(
    {
      enabled: t.boolean(),
      agent_count: t.integer(),
      in_progress: t.integer(),
      completed: t.integer(),
      agents: t.array(agentRow, { description: 'Agents of the answering process.' }),
      processes: t.array(processRow, { description: 'All processes of the repository, the answering one first.' }),
      incomplete: t.optional(t.string({ description: 'Processes that could not be read, and why.' })),
      markdown_summary: t.string(),
      text: t.string({ description: 'Plain-text summary in two lines.' })
    },
    { additionalProperties: true }
  ),
  effect: 'read',
  expose: {
    mcp: tool('orchestrator_status', {
      readRole: true,
      toolsets: ['default', 'status'],
      use: 'The whole project at a glance; begin here. One task: svc_task_status.'
    }),
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
  tasks,
  pilot,
  fleet,
  sections,
  context
}: Dependencies): Handler<typeof orchestratorStatus> {
  return async ({ own }, { signal, surface }) => {
    const status = local.status()
    const { running, workers } = fleetState(fleet)
    const { items, failed } = await tasks.current.processes(signal)
    const processes = items.filter(process => process.own || !own).map(processReport)
    const others = otherLines(processes)
    return {
      ...(await readSections(sections(), signal)),
      ...reportOf(status),
      processes,
      ...incomplete(failed),
      in_progress: status.total_in_progress,
      completed: status.total_completed,
      context_entries: context?.size ?? 0,
      execution_mode: executionMode(running),
      worker_runtime_attached: running,
      registered_worker_processes: workers,
      db_configured: status.durability.kind === 'database',
      event_feed_mode: status.durability.kind === 'database' ? 'codex_and_transient' : 'transient_only',
      ...(surface === 'rpc' ? {} : await daemonStatus(pilot, signal)),
      markdown_summary: [markdownSummary(status, running), ...others].join('\n\n'),
      text: [...summaryLines(status, running), ...others].join('\n')
    }
  }
}

export function processReport({ open, ended, agents, ...process }: ProcessTasks): ProcessReport {
  return {
    ...holderOf(process).process,
    label: processLabel(process),
    agents,
    queued: open.Queued,
    in_progress: open.InProgress,
    blocked: open.Blocked,
    blocked_on_approval: open.BlockedOnApproval,
    doubted: open.Doubted,
    ...ended
  }
}

/** Returns one line for each other process that has agents or had tasks; commands have neither. */
export function otherLines(processes: readonly ProcessReport[]): string[] {
  return processes.flatMap(process => {
    const { own, label, agents, queued, in_progress, blocked, blocked_on_approval, doubted, completed, failed } =
      process
    if (own || agents + queued + in_progress + completed + failed === 0) return []
    return [
      `Process ${label}: ${agents} agents, ${queued} queued, ${in_progress} in progress, ${blocked} blocked, ` +
        `${blocked_on_approval} wait for approval, ${doubted} doubted, ${completed} completed, ${failed} failed.`
    ]
  })
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
  input: t.object({ reason: t.optional(t.string({ maxLength: 4_096, description: 'Why everything stops.' })) }),
  output: t.object({ stopped: t.boolean() }),
  errors: orchestrationErrors.specs,
  effect: 'destructive',
  expose: {
    mcp: tool('emergency_stop', {
      toolsets: ['agents'],
      use: 'Stops all agents at once. For one agent use svc_pause_agent. svc_orchestrator_start ends it.'
    }),
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
  summary: 'List the agents of all processes',
  input: t.object({ own }),
  output: t.object({
    agents: t.array(t.object({ ...holderFields }, { additionalProperties: true })),
    incomplete: t.optional(t.string({ description: 'Agents that could not be read, and why.' }))
  }),
  effect: 'read',
  expose: {
    mcp: tool('agent_status', {
      toolsets: ['agents'],
      use: 'All agents with queue, current task and activity. Trust and spending of one: svc_agent_assess.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/agents' },
    rpc: true,
    cli: {
      command: 'orch agents list',
      view: {
        rows: 'agents',
        columns: ['id', 'name', 'queued', 'current_task', 'completed', 'paused', 'trust_tier', 'holder'],
        note: 'incomplete'
      }
    }
  }
})

function agentStatusHandler({ tasks }: Dependencies): Handler<typeof agentStatus> {
  return async ({ own }, { signal }) => {
    const { items, failed } = await tasks.current.agents({ own }, signal)
    return { agents: items.map(({ process, ...agent }) => ({ ...agent, ...holderOf(process) })), ...incomplete(failed) }
  }
}

export const statusOperations = [
  bound(orchestratorStatus, orchestratorStatusHandler),
  bound(emergencyStop, emergencyStopHandler),
  bound(agentStatus, agentStatusHandler)
]
