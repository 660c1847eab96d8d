import { readFile } from 'node:fs/promises'
import { type DaemonState, daemonPresence, daemonStatePath, parseDaemonState, probeDaemon } from '@svc/contracts'

/**
 * State of the daemon of a project. `stale`: it ended without removing its file. `silent`: its process runs and does not answer,
 * as before every plugin is active.
 */
export type DaemonLook =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'stale'; readonly state: DaemonState | null }
  | { readonly kind: 'running' | 'silent'; readonly state: DaemonState }

/** Looks for the daemon's process, and asks it whose it is. */
export async function look(root: string): Promise<DaemonLook> {
  let text: string
  try {
    text = await readFile(daemonStatePath(root), 'utf8')
  } catch {
    return { kind: 'stopped' }
  }
  const state = parseDaemonState(text)
  if (state === null || daemonPresence(state) === 'dead') return { kind: 'stale', state }
  if (await probeDaemon(state)) return { kind: 'running', state }
  // A number that is in use is no proof where nothing else is known of the process.
  return daemonPresence(state) === 'alive' ? { kind: 'silent', state } : { kind: 'stale', state }
}
