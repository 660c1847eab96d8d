import { callDaemon, type Invocation, probeDaemon, readDaemonState } from '@svc/contracts'
import type { CommandSession } from './commands.ts'

type Listeners = Pick<Invocation, 'onEvent' | 'onProgress'>

/** The running daemon of a project. */
export interface Daemon {
  call(method: string, params: unknown, signal: AbortSignal, listeners: Listeners): Promise<unknown>
}

/**
 * The daemon that answers for the session's project, or null. Settings of one command (`--set`, `--profile`) do not reach
 * another process, so they keep the command in this one.
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
