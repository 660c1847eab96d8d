import { readFile } from 'node:fs/promises'
import {
  type DaemonState,
  daemonPresence,
  daemonStatePath,
  ownIdentity,
  parseDaemonState,
  probeDaemon
} from '@svc/contracts'
import { claim, release } from './claim.ts'
import { daemonErrors } from './errors.ts'

/** This process as a daemon, with its address. */
export function ownState(about: Pick<DaemonState, 'socket' | 'token' | 'version' | 'repository_id'>): DaemonState {
  const { pid, host, start } = ownIdentity()
  const started_at = new Date(performance.timeOrigin).toISOString()
  return { pid, host, process_start: start, started_at, ...about }
}

/**
 * Makes this process the daemon of its repository and writes its address. Replaces the file of a dead daemon, and an earlier
 * one of this process. Throws `DMN_REPOSITORY_HELD` where another process is the daemon.
 */
export async function holdRepository(root: string, state: DaemonState): Promise<void> {
  const holder = await claim(daemonStatePath(root), textOf(state), text => isOfAnother(text, state))
  if (holder !== null) throw held(parseDaemonState(holder))
}

/**
 * Throws `DMN_REPOSITORY_HELD` if another process is the daemon; called before binding, since both may have the same
 * address.
 */
export async function assertFree(root: string): Promise<void> {
  const text = await readFile(daemonStatePath(root), 'utf8').catch(() => '')
  const { pid, host, start } = ownIdentity()
  if (await isOfAnother(text, { pid, host, process_start: start })) throw held(parseDaemonState(text))
}

/** Keeps the file if it belongs to another daemon or has another address meanwhile. */
export async function removeStateFile(root: string, state: DaemonState): Promise<void> {
  await release(daemonStatePath(root), textOf(state))
}

/** True if a daemon seems to run; a process of another machine is asked over its socket. */
export async function isThere(state: DaemonState): Promise<boolean> {
  const presence = daemonPresence(state)
  return presence === 'alive' || (presence === 'unknown' && (await probeDaemon(state)))
}

async function isOfAnother(text: string, own: Pick<DaemonState, 'pid' | 'host' | 'process_start'>): Promise<boolean> {
  const state = parseDaemonState(text)
  if (state === null) return false
  const { pid, host, process_start } = state
  if (pid === own.pid && host === own.host && process_start === own.process_start) return false
  return isThere(state)
}

function textOf(state: DaemonState): string {
  return `${JSON.stringify(state, null, 2)}\n`
}

function held(holder: DaemonState | null): Error {
  const { pid = 0, socket = '', started_at = '' } = holder ?? {}
  const who = `process ${pid}, since ${started_at}, at ${socket}`
  return daemonErrors.create('DMN_REPOSITORY_HELD', `this repository has a daemon already: ${who}`, {
    hint: `svc daemon stop ends it; to serve without a daemon add --set plugins.daemon.enabled=false`
  })
}
