import type { KernelAdmin, SharedWorkflowRuns, WorkflowStores } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { repositoryOf } from './look-after-due.ts'

/** Opens the runs on the server of the coordination store. Throws `RUN_UNSUPPORTED` if there is none. */
export async function openSharedRuns(
  stores: WorkflowStores | undefined,
  admin: KernelAdmin | undefined
): Promise<SharedWorkflowRuns> {
  const open = stores?.open ?? null
  if (open !== null) return open(repositoryOf(admin))
  const reason = stores === undefined ? 'the plugin coordination-postgres is not active' : 'coordination.url is not set'
  throw runErrors.create('RUN_UNSUPPORTED', `durable_store = "coordination" cannot be used: ${reason}`, {
    hint: 'set the URL of a PostgreSQL server in coordination.url, or durable_store = "database" in [plugins.app-runtime]'
  })
}
