import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a running daemon leaves in the project so that others find it. */
export interface DaemonState {
  readonly pid: number
  /** When the process started, ISO 8601. */
  readonly started_at: string
  /** Where it listens: `HOST:PORT`, or the absolute path of a unix socket. */
  readonly socket: string
  readonly version: string
  readonly repository_id: string
}

/** The file is written when the daemon begins to serve and removed when it stops. */
export function daemonStatePath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'daemon.json')
}

/**
 * The daemon of a project, or null when none is known to run: no file, a damaged file, or one whose process is gone.
 * It does not connect; {@link probeDaemon} tells whether the daemon answers.
 */
export async function readDaemonState(projectRoot: string): Promise<DaemonState | null> {
  let text: string
  try {
    text = await readFile(daemonStatePath(projectRoot), 'utf8')
  } catch {
    return null
  }
  const state = parseDaemonState(text)
  return state !== null && processLives(state.pid) ? state : null
}

/** Null when the text is not a complete state. */
export function parseDaemonState(text: string): DaemonState | null {
  let value: Partial<Record<keyof DaemonState, unknown>> | null
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { pid, started_at, socket, version, repository_id } = value
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null
  if (typeof started_at !== 'string' || typeof socket !== 'string') return null
  if (typeof version !== 'string' || typeof repository_id !== 'string') return null
  return { pid, started_at, socket, version, repository_id }
}

/** Signal 0 checks without sending; EPERM means that it lives and belongs to somebody else. */
function processLives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
