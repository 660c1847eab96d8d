import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { identityOf, type Presence, presenceOf } from '@svc/contracts'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { commandLine } from './command-line.ts'
import { SIDECAR_NAME } from './locate.ts'

/** Content of the state file. */
export interface SidecarState {
  readonly process_name: string
  readonly pid: number
  readonly started_unix_ms: number
  readonly binary_path: string
  /** Host and start of the process, as in `ProcessIdentity`. Other programs may omit both. */
  readonly host?: string
  readonly start?: string
}

/** Maximum size of the file. A larger one is not a state file. */
const MAX_BYTES = 16_384

export function sidecarStatePath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'process-supervision', `${SIDECAR_NAME}.state.json`)
}

/** Returns the state of a process that was just started. */
export function stateOf(pid: number, binary: string): SidecarState {
  const { host, start } = identityOf(pid)
  const state = { process_name: SIDECAR_NAME, pid, started_unix_ms: Date.now(), binary_path: binary }
  return start === null ? state : { ...state, host, start }
}

/** Reads the state file. Returns null if it does not exist, and `invalid` if it is not a state file. */
export function readState(path: string): SidecarState | 'invalid' | null {
  let text: string
  try {
    if (statSync(path).size > MAX_BYTES) return 'invalid'
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const value = JSON.parse(text) as Partial<SidecarState> | null
    return isState(value) ? value : 'invalid'
  } catch {
    return 'invalid'
  }
}

/** Replaces the state file. Synchronous: between the start of the process and its record, nothing else runs. */
export function writeState(path: string, state: SidecarState): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    makeFolder(dirname(path))
    writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

export function removeState(path: string): void {
  rmSync(path, { force: true })
}

/**
 * Returns whether the recorded process runs. A different process with the same id counts as `dead`. Without a recorded
 * start, the command line of the process must name the program. `unknown`: it was started on another host, before a
 * reboot, or in another container.
 */
export function sidecarPresence({ pid, host, start, binary_path }: SidecarState): Presence {
  if (host !== undefined && start !== undefined) return presenceOf({ host, pid, start })
  const command = commandLine(pid)
  if (command === null) return exists(pid) ? 'unknown' : 'dead'
  return command.includes(binary_path) ? 'alive' : 'dead'
}

function isState(value: Partial<SidecarState> | null): value is SidecarState {
  if (typeof value !== 'object' || value === null) return false
  const { process_name, pid, started_unix_ms, binary_path, host, start } = value
  return (
    process_name === SIDECAR_NAME &&
    Number.isSafeInteger(pid) &&
    (pid as number) > 1 &&
    Number.isFinite(started_unix_ms) &&
    typeof binary_path === 'string' &&
    basename(binary_path).startsWith(SIDECAR_NAME) &&
    isOptionalText(host) &&
    isOptionalText(start)
  )
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
