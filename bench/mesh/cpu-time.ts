import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Milliseconds of a clock tick in /proc. */
const TICK_MS = 10

/** Returns the process id of a PostgreSQL server from its data folder. */
export function postgresPid(dataFolder: string): number {
  return Number(readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n', 1)[0])
}

/** Returns the CPU time in milliseconds of a process and all children that it has had. Needs Linux. */
export function cpuTimeOfTree(pid: number): number {
  const own = ticksOf(pid)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean)
  const running = children.reduce((sum, child) => sum + (ticksOf(Number(child))?.own ?? 0), 0)
  return ((own?.own ?? 0) + (own?.ended ?? 0) + running) * TICK_MS
}

/** Returns clock ticks of a process and of its ended children; null if it has ended. */
function ticksOf(pid: number): { readonly own: number; readonly ended: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may contain spaces; the fields after it begin with the third one.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { own: user + system, ended: endedUser + endedSystem }
  } catch {
    return null
  }
}
