import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

/**
 * Threads that help a computation: the processors that this process may use, hardware threads of one core counted once
 * where the system reports it (Linux).
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
