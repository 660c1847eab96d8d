import { readFile } from 'node:fs/promises'
import { type DaemonState, daemonPresence, daemonStatePath, parseDaemonState, probeDaemon } from '@svc/contracts'

/**
 * State of the daemon of a project. `stale`: it ended without removing its file. `silent`: its process runs but does
 * not answer, for example during the start.
 */
export type DaemonLook =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'stale'; readonly state: DaemonState | null }
  | { readonly kind: 'running' | 'silent'; readonly state: DaemonState }

/** Finds the daemon's process, and asks it for its repository. */
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
  // A live process id does not identify the process.
  return daemonPresence(state) === 'alive' ? { kind: 'silent', state } : { kind: 'stale', state }
}
