import { type DaemonState, daemonPresence, orchPing, probeDaemon, readDaemonState, usesStdio } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { PluginCatalog } from '../host/catalog.ts'
import { Choices } from '../host/choices.ts'
import { configOf } from '../host/project/project-state.ts'
import { cliErrors } from './errors.ts'

/**
 * Throws `CLI_ALREADY_SERVED` if another process is the daemon of the project and this one would also run a daemon.
 * Daemons on standard input and output serve only their parent, so any number of them may run.
 */
export async function refuseSecondServer(catalog: PluginCatalog, only: readonly string[] | undefined): Promise<void> {
  const state = await readDaemonState(catalog.projectRoot)
  if (state === null || !listensAsDaemon(catalog, only) || !(await isRunning(state))) return
  const { pid, socket, started_at } = state
  throw cliErrors.create(
    'CLI_ALREADY_SERVED',
    `this project is already served by process ${pid} at ${socket}, since ${started_at}`,
    {
      hint: 'stop it with svc daemon stop, or start a second server without a daemon: --set plugins.daemon.enabled=false'
    }
  )
}

function listensAsDaemon(catalog: PluginCatalog, only: readonly string[] | undefined): boolean {
  const daemon = catalog.manifests.find(({ operations }) => operations.some(({ id }) => id === orchPing.id))
  if (daemon === undefined) return false
  const config = configOf(catalog)
  const { enabled, error } = new Choices(defined({ only })).configure(config, catalog)(daemon.name)
  const socket = config.plugins.get(daemon.name)?.values.socket
  return (enabled ?? daemon.enabledByDefault) && error === null && !(typeof socket === 'string' && usesStdio(socket))
}

async function isRunning(state: DaemonState): Promise<boolean> {
  return daemonPresence(state) === 'alive' || (await probeDaemon(state))
}
