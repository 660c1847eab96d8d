import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Presence, presenceOf } from '../process/identity.ts'

/**
 * State file of a project's running daemon. Clients find the daemon through it, and it prevents a second daemon.
 */
export interface DaemonState {
  readonly pid: number
  /** The machine of the process; null in the file of an older daemon. */
  readonly host: string | null
  /**
   * Start time that distinguishes the process from a later one with the same id; null if the system or an older daemon
   * did not report it.
   */
  readonly process_start: string | null
  /** When the process started, ISO 8601. */
  readonly started_at: string
  /** Address: `HOST:PORT`, or the absolute path of a unix socket. */
  readonly socket: string
  /**
   * Token that authorises a peer to call any method; null in the file of an older daemon. Only the owner can read the
   * file.
   */
  readonly token: string | null
  readonly version: string
  readonly repository_id: string
}

const STDIO = new Set(['stdio', '-', 'stdin'])

/** Returns whether the daemon's `socket` setting selects stdio. Such a daemon has no address and no state file. */
export function usesStdio(socket: string): boolean {
  return STDIO.has(socket.trim())
}

/** Path of the state file. The first daemon to listen creates the file, and removes it when it stops. */
export function daemonStatePath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'daemon.json')
}

/**
 * Returns the state of a project's daemon. Returns null if the file is missing or damaged, or its process has ended.
 * Does not connect; {@link probeDaemon} checks whether the daemon responds.
 */
export async function readDaemonState(projectRoot: string): Promise<DaemonState | null> {
  let text: string
  try {
    text = await readFile(daemonStatePath(projectRoot), 'utf8')
  } catch {
    return null
  }
  const state = parseDaemonState(text)
  return state !== null && daemonPresence(state) !== 'dead' ? state : null
}

/** Returns whether a daemon's process runs; `unknown` if this process cannot determine it, as on another host. */
export function daemonPresence({ host, pid, process_start }: DaemonState): Presence {
  return host === null
    ? presenceOf({ host: hostname(), pid, start: null })
    : presenceOf({ host, pid, start: process_start })
}

/** Parses a state file; null if it is not a complete state. */
export function parseDaemonState(text: string): DaemonState | null {
  let value: Partial<Record<keyof DaemonState, unknown>> | null
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { pid, host = null, process_start = null, started_at, socket, token = null, version, repository_id } = value
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null
  if (typeof started_at !== 'string' || typeof socket !== 'string') return null
  if (typeof version !== 'string' || typeof repository_id !== 'string') return null
  if (!isTextOrNull(host) || !isTextOrNull(process_start) || !isTextOrNull(token)) return null
  return { pid, host, process_start, started_at, socket, token, version, repository_id }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
