import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Says which process of which machine has a seat, so that others can tell whether it is still there. */
export interface ProcessIdentity {
  readonly host: string
  readonly pid: number
  /**
   * When it started, in words that no other process of that number has: the boot, the table of processes that the number is of,
   * and the clock ticks after the boot. Null where the system does not tell.
   */
  readonly start: string | null
}

export type Presence = 'alive' | 'dead' | 'unknown'

const BOOT = '/proc/sys/kernel/random/boot_id'
const NAMESPACE = '/proc/self/ns/pid'
/** Field 22 of `/proc/PID/stat`, counted from the one after the name, which is in parentheses and may hold spaces. */
const START_FIELD = 19

export function ownIdentity(): ProcessIdentity {
  const { boot, namespace } = machine()
  const ticks = startTicks(process.pid)
  const start = boot === null || namespace === null || ticks === null ? null : `${boot} ${namespace} ${ticks}`
  return { host: hostname(), pid: process.pid, start }
}

/** Whether the process is there, as far as this one can see: `unknown` for other hosts and other tables of processes. */
export function presenceOf({ host, pid, start }: ProcessIdentity): Presence {
  if (host !== hostname()) return 'unknown'
  const { boot, namespace } = machine()
  if (boot === null || namespace === null || start === null) return isGone(pid) ? 'dead' : 'unknown'
  const [itsBoot, itsNamespace, itsTicks] = start.split(' ')
  if (itsBoot !== boot) return 'dead'
  if (itsNamespace !== namespace) return 'unknown'
  return startTicks(pid) === itsTicks ? 'alive' : 'dead'
}

function machine(): { boot: string | null; namespace: string | null } {
  return {
    boot: attempt(() => readFileSync(BOOT, 'utf8').trim()),
    namespace: attempt(() => readlinkSync(NAMESPACE).replace(/\s/g, ''))
  }
}

/** Null where there is no such process. One that has ended and was not waited for is none. */
function startTicks(pid: number): string | null {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[START_FIELD] ?? null)
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
