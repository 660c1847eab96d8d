import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Identity of a process and its machine, by which other processes can check whether it still runs. */
export interface ProcessIdentity {
  readonly host: string
  readonly pid: number
  /**
   * Start of the process, unique among processes with the same id. On Linux: boot id, PID namespace, and clock ticks
   * since boot; elsewhere the start time. Null if the system does not report it.
   */
  readonly start: string | null
}

export type Presence = 'alive' | 'dead' | 'unknown'

const BOOT = '/proc/sys/kernel/random/boot_id'
const NAMESPACE = '/proc/self/ns/pid'
/** Field 22 of `/proc/PID/stat`, counted from the field after the name: the name may contain spaces. */
const START_FIELD = 19

export function ownIdentity(): ProcessIdentity {
  return identityOf(process.pid)
}

/** Returns the identity of a process on this machine. */
export function identityOf(pid: number): ProcessIdentity {
  const own = machine()
  const time = own === null ? startTime(pid) : startTicks(pid)
  const start = own === null || time === null ? time : `${own.boot} ${own.namespace} ${time}`
  return { host: hostname(), pid, start }
}

/**
 * Returns whether a process is alive. `unknown` for a process on another host, or with another boot id or PID
 * namespace: two machines may share a host name, and only the boot id distinguishes them.
 */
export function presenceOf({ host, pid, start }: ProcessIdentity): Presence {
  if (host !== hostname()) return 'unknown'
  if (start === null) return isGone(pid) ? 'dead' : 'unknown'
  const own = machine()
  if (own === null) {
    const time = startTime(pid)
    if (time === null) return isGone(pid) ? 'dead' : 'unknown'
    return time === start ? 'alive' : 'dead'
  }
  const [boot, namespace, ticks] = start.split(' ')
  if (boot !== own.boot || namespace !== own.namespace) return 'unknown'
  return startTicks(pid) === ticks ? 'alive' : 'dead'
}

/** Returns boot id and PID namespace; null if the system has no `/proc`. */
function machine(): { readonly boot: string; readonly namespace: string } | null {
  return attempt(() => ({
    boot: readFileSync(BOOT, 'utf8').trim(),
    namespace: readlinkSync(NAMESPACE).replace(/\s/g, '')
  }))
}

/** Returns when a process started, in clock ticks since boot; null if it does not exist or is a zombie. */
function startTicks(pid: number): string | null {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[START_FIELD] ?? null)
}

/** Returns when a process started, from `ps`; null if `ps` does not report it. */
function startTime(pid: number): string | null {
  if (process.platform === 'win32') return null
  // Loaded on first use, since most processes do not need it.
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
  const ask = (): string =>
    execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore']
    })
  return attempt(ask)?.trim() || null
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function attempt<A>(run: () => A): A | null {
  try {
    return run()
  } catch {
    return null
  }
}
