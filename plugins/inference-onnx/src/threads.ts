import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

/**
 * Returns the number of threads for a computation: the cores available to this process. Where the system reports
 * hardware threads (Linux), those of one core count once; elsewhere each counts.
 */
export async function physicalParallelism(): Promise<number> {
  const allowed = availableParallelism()
  const cores = new Set<string>()
  for (let cpu = 0; cpu < allowed; cpu++) {
    const file = `/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`
    const siblings = await readFile(file, 'utf8').catch(() => null)
    if (siblings === null) return allowed
    cores.add(siblings)
  }
  return Math.max(1, cores.size)
}
