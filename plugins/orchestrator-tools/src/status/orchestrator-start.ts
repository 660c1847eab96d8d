import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { tool } from '../tool.ts'
import { executionMode, fleetState } from './orchestrator-status.ts'

const orchestratorStart = defineOperation({
  id: 'orchestrator.start',
  summary: 'Start the orchestrator, also after an emergency stop',
  input: t.object({}),
  output: t.object({
    honest_message: t.string(),
    agent_count: t.integer(),
    registered_worker_processes: t.integer(),
    execution_mode: t.enum(['queue_only', 'workers_attached']),
    agent_fleet_loop_running: t.boolean(),
    note: t.string(),
    daemon_reported_agent_count: t.optional(t.integer()),
    daemon_status_rpc_error: t.optional(t.string()),
    daemon_reported_agent_ids: t.optional(t.array(t.integer())),
    daemon_agent_ids_rpc_error: t.optional(t.string())
  }),
  errors: orchestrationErrors.specs,
  idempotent: true,
  expose: {
    mcp: tool('orchestrator_start', {
      toolsets: ['status'],
      use: 'Only after svc_emergency_stop, or to let queued tasks run. It is safe to repeat.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/start' },
    rpc: true,
    cli: { command: 'orch start', view: { text: 'honest_message', note: 'note' } }
  }
})

function orchestratorStartHandler({ orchestrator, pilot, fleet }: Dependencies): Handler<typeof orchestratorStart> {
  return async (_, { signal }) => {
    await orchestrator.start()
    const { running, workers, processors } = fleetState(fleet)
    const agents = orchestrator.agents().length
    return {
      honest_message: running
        ? `${agents} agents claim tasks in this process; processors: ${processors.join(', ') || 'none'}.`
        : `No agent claims tasks in this process; clients must complete the tasks in the queues of ${agents} agents.`,
      agent_count: agents,
      registered_worker_processes: workers,
      execution_mode: executionMode(running),
      agent_fleet_loop_running: running,
      note: 'Submit a task with svc orch submit; see its routing and gates with svc orch explain.',
      ...(await reported(pilot, signal))
    }
  }
}

async function reported(pilot: Dependencies['pilot'], signal: AbortSignal) {
  if (!(await pilot.steers('start'))) return {}
  const [status, ids] = await Promise.allSettled([
    pilot.call('orch.status', {}, signal) as Promise<{ readonly agent_count: number }>,
    pilot.call('orch.agent_ids', {}, signal) as Promise<{ readonly agent_ids: number[] }>
  ])
  return {
    ...(status.status === 'fulfilled'
      ? { daemon_reported_agent_count: status.value.agent_count }
      : { daemon_status_rpc_error: (status.reason as Error).message }),
    ...(ids.status === 'fulfilled'
      ? { daemon_reported_agent_ids: ids.value.agent_ids }
      : { daemon_agent_ids_rpc_error: (ids.reason as Error).message })
  }
}

export const startOperations = [bound(orchestratorStart, orchestratorStartHandler)]
