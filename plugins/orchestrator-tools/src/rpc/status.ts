import { join } from 'node:path'
import type { OrchestratorStatus } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'

const open = { additionalProperties: true }

const rpcStatus = defineOperation({
  id: 'orch.status',
  summary: 'Show the state of the orchestrator',
  input: t.object({}, open),
  output: t.object({ enabled: t.boolean(), agent_count: t.integer(), agents: t.array(t.record(t.unknown())) }, open),
  effect: 'read',
  expose: { rpc: true }
})

function rpcStatusHandler({ local, context }: Dependencies): Handler<typeof rpcStatus> {
  return () => ({ ...reportOf(local.status()), context_entries: context?.size ?? 0 })
}

/** With the field names of the protocol. */
export function reportOf({ agents, ...status }: OrchestratorStatus) {
  return {
    ...status,
    agents: agents.map(agent => ({
      id: agent.id,
      name: agent.name,
      queued: agent.queued,
      doubted_count: agent.doubted,
      urgent_count: agent.urgent,
      normal_count: agent.normal,
      background_count: agent.background,
      in_progress: agent.current_task !== null,
      current_task: agent.current_task,
      activity: agent.activity,
      completed: agent.completed,
      paused: agent.paused,
      owned_files: agent.owned_files,
      dynamic: agent.dynamic,
      weighted_load: agent.weighted_load,
      max_handoff_count: agent.max_handoff_count,
      ...(agent.session_id === undefined ? {} : { agent_session_id: agent.session_id }),
      ...(agent.active_skill === undefined ? {} : { active_skill: agent.active_skill }),
      ...(agent.current_phase === undefined ? {} : { current_phase: agent.current_phase })
    }))
  }
}

const rpcWorkspaceJourney = defineOperation({
  id: 'orch.workspace_journey',
  summary: "Show the daemon's repository and store",
  input: t.object({}, open),
  output: t.object({
    workspace_journey_store_mode: t.enum(['project', 'canonical']),
    project_store_path: t.string(),
    repository_id: t.string(),
    fallback_canonical: t.boolean(),
    daemon_repository_id: t.string(),
    discovered_repository_id: t.string()
  }),
  effect: 'read',
  expose: { rpc: true }
})

/** Settings of the database that say where the store of a project is. */
const STORE_MODE = 'plugins.database.journey_store'
const FALLBACK = 'plugins.database.journey_fallback_canonical'

function rpcWorkspaceJourneyHandler({ port, local, admin }: Dependencies): Handler<typeof rpcWorkspaceJourney> {
  const setting = (key: string): unknown => admin?.settings(key).find(each => each.key === key)?.value
  return () => ({
    workspace_journey_store_mode: setting(STORE_MODE) === 'canonical' ? 'canonical' : 'project',
    project_store_path: join(port.stateRoot, 'store.db'),
    repository_id: port.repositoryId,
    fallback_canonical: setting(FALLBACK) !== false,
    daemon_repository_id: local.repositoryId,
    discovered_repository_id: port.repositoryId
  })
}

export const statusMethods = [
  bound(rpcStatus, rpcStatusHandler),
  bound(rpcWorkspaceJourney, rpcWorkspaceJourneyHandler)
]
