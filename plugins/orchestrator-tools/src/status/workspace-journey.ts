import { join } from 'node:path'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'

const workspaceJourney = defineOperation({
  id: 'orch.workspace_journey',
  summary: "Show the daemon's repository and store",
  input: t.object({}, { additionalProperties: true }),
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

/** Settings of the plugin database for the location of the project's store. */
const STORE_MODE = 'plugins.database.journey_store'
const FALLBACK = 'plugins.database.journey_fallback_canonical'

function workspaceJourneyHandler({ port, local, admin }: Dependencies): Handler<typeof workspaceJourney> {
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

export const journeys = [bound(workspaceJourney, workspaceJourneyHandler)]
