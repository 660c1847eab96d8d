import { callDaemon, type Invocation, probeDaemon, readDaemonState } from '@svc/contracts'
import type { CommandSession } from './commands.ts'

type Listeners = Pick<Invocation, 'onEvent' | 'onProgress'>

/** The running daemon of a project. */
export interface Daemon {
  call(method: string, params: unknown, signal: AbortSignal, listeners: Listeners): Promise<unknown>
}

/**
 * Returns the running daemon of the session's project, or null. With `--set`, `--profile`, `--safe` or
 * `--in-process` the result is always null: the daemon may run with other settings or plugins.
 */
export async function findDaemon(session: CommandSession): Promise<Daemon | null> {
  const { flags, catalog } = session
  if (flags.inProcess || flags.set.length > 0 || flags.profile !== undefined) return null
  const state = await readDaemonState(catalog.projectRoot)
  if (state === null) return null
  if (!(await probeDaemon(state))) return null
  return {
    call: (method, params, signal, listeners) => callDaemon(state, method, params, { signal, ...listeners })
  }
}
