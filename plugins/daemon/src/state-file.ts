import { readFile } from 'node:fs/promises'
import {
  type DaemonState,
  daemonPresence,
  daemonStatePath,
  ownIdentity,
  parseDaemonState,
  probeDaemon
} from '@svc/contracts'
import { claim, release } from '@svc/contracts/claim-file'
import { daemonErrors } from './errors.ts'

/** Returns the state that describes this process as the daemon. */
export function ownState(about: Pick<DaemonState, 'socket' | 'token' | 'version' | 'repository_id'>): DaemonState {
  const { pid, host, start } = ownIdentity()
  const started_at = new Date(performance.timeOrigin).toISOString()
  return { pid, host, process_start: start, started_at, ...about }
}

/**
 * Makes this process the daemon of its repository and writes the state file. Replaces the file of a dead daemon, or an
 * earlier one of this process. Throws `DMN_REPOSITORY_HELD` if another process is the daemon.
 */
export async function holdRepository(root: string, state: DaemonState): Promise<void> {
  const holder = await claim(daemonStatePath(root), textOf(state), text => isOfAnother(text, state))
  if (holder !== null) throw held(parseDaemonState(holder))
}

/**
 * Throws `DMN_REPOSITORY_HELD` if another process is the daemon. Called before listening, since both may use the same
 * address and would otherwise fail with `DMN_PORT_IN_USE`.
 */
export async function assertFree(root: string): Promise<void> {
  const text = await readFile(daemonStatePath(root), 'utf8').catch(() => '')
  const { pid, host, start } = ownIdentity()
  if (await isOfAnother(text, { pid, host, process_start: start })) throw held(parseDaemonState(text))
}

/** Removes the state file, unless it now belongs to another daemon or has another address. */
export async function removeStateFile(root: string, state: DaemonState): Promise<void> {
  await release(daemonStatePath(root), textOf(state))
}

/** True if the daemon seems to run. If it is on another machine, its socket is probed. */
export async function isRunning(state: DaemonState): Promise<boolean> {
  const presence = daemonPresence(state)
  return presence === 'alive' || (presence === 'unknown' && (await probeDaemon(state)))
}

async function isOfAnother(text: string, own: Pick<DaemonState, 'pid' | 'host' | 'process_start'>): Promise<boolean> {
  const state = parseDaemonState(text)
  if (state === null) return false
  const { pid, host, process_start } = state
  if (pid === own.pid && host === own.host && process_start === own.process_start) return false
  return isRunning(state)
}

function textOf(state: DaemonState): string {
  return `${JSON.stringify(state, null, 2)}\n`
}

function held(holder: DaemonState | null): Error {
  const { pid = 0, socket = '', started_at = '' } = holder ?? {}
  const owner = `process ${pid}, since ${started_at}, at ${socket}`
  return daemonErrors.create('DMN_REPOSITORY_HELD', `this repository already has a daemon: ${owner}`, {
    hint: `stop it with svc daemon stop, or serve without a daemon: --set plugins.daemon.enabled=false`
  })
}
