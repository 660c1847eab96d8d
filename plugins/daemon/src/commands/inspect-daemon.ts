import { readFile } from 'node:fs/promises'
import { type DaemonState, daemonPresence, daemonStatePath, parseDaemonState, probeDaemon } from '@svc/contracts'

/**
 * State of a project's daemon. `stale`: the daemon ended without removing its file. `silent`: its process runs but does
 * not respond, for example while it starts.
 */
export type DaemonInspection =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'stale'; readonly state: DaemonState | null }
  | { readonly kind: 'running' | 'silent'; readonly state: DaemonState }

/** Reads the state file and probes the daemon. */
export async function inspectDaemon(root: string): Promise<DaemonInspection> {
  let text: string
  try {
    text = await readFile(daemonStatePath(root), 'utf8')
  } catch {
    return { kind: 'stopped' }
  }
  const state = parseDaemonState(text)
  if (state === null || daemonPresence(state) === 'dead') return { kind: 'stale', state }
  if (await probeDaemon(state)) return { kind: 'running', state }
  // Another process may have reused the id, so only a known start time proves that the daemon is alive.
  return daemonPresence(state) === 'alive' ? { kind: 'silent', state } : { kind: 'stale', state }
}
