import { readFile, statfs } from 'node:fs/promises'
import { freemem, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { getHeapStatistics } from 'node:v8'

export interface Measurement {
  /** Unix milliseconds. */
  readonly at: number
  readonly disk_free_bytes: number
  readonly disk_size_bytes: number
  /** Memory that is in use by the container, or by the machine without a limit; reclaimable caches left out. */
  readonly memory_used_bytes: number
  readonly memory_limit_bytes: number
  /** `cgroup`: the limit is that of the container or service. `machine`: there is none. */
  readonly memory_source: 'cgroup' | 'machine'
  readonly rss_bytes: number
  readonly heap_used_bytes: number
  readonly heap_limit_bytes: number
}

/** Measures once: one `statfs` and at most a few small files of the kernel, outside of the event loop. */
export async function measure(stateFolder: string): Promise<Measurement> {
  const [disk, memory] = await Promise.all([diskOf(stateFolder), memoryOf()])
  const { heap_size_limit, used_heap_size } = getHeapStatistics()
  return {
    at: Date.now(),
    ...disk,
    ...memory,
    rss_bytes: process.memoryUsage.rss(),
    heap_used_bytes: used_heap_size,
    heap_limit_bytes: heap_size_limit
  }
}

/** The state folder may not exist yet; its disk is that of the nearest folder above. */
async function diskOf(folder: string): Promise<Pick<Measurement, 'disk_free_bytes' | 'disk_size_bytes'>> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { disk_free_bytes: bavail * bsize, disk_size_bytes: blocks * bsize }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    return diskOf(dirname(folder))
  }
}

type Memory = Pick<Measurement, 'memory_used_bytes' | 'memory_limit_bytes' | 'memory_source'>

/** Returns the memory of the tightest control group, else of the machine. */
export async function memoryOf(root = '/sys/fs/cgroup', self = '/proc/self/cgroup'): Promise<Memory> {
  const groups = await Promise.all((await groupsOf(root, self)).map(groupMemory))
  const limited = groups.filter(group => group !== null && group.memory_limit_bytes < totalmem()) as Memory[]
  const [tightest] = limited.sort(
    (one, other) =>
      one.memory_limit_bytes - one.memory_used_bytes - (other.memory_limit_bytes - other.memory_used_bytes)
  )
  return tightest ?? machineMemory()
}

/** Returns the folder of this process's control group and of those above it; none without cgroup v2. */
async function groupsOf(root: string, self: string): Promise<string[]> {
  const text = await readFile(self, 'utf8').catch(() => '')
  const path = /^0::(\/.*)$/m.exec(text)?.[1]
  if (path === undefined) return []
  const parts = path.split('/').filter(part => part !== '' && part !== '..')
  return [root, ...parts.map((_part, index) => join(root, ...parts.slice(0, index + 1)))]
}

async function groupMemory(folder: string): Promise<Memory | null> {
  try {
    const [limit, current, stat] = await Promise.all(
      ['memory.max', 'memory.current', 'memory.stat'].map(name => readFile(join(folder, name), 'utf8'))
    )
    const bytes = Number(limit)
    if (!Number.isFinite(bytes)) return null
    const reclaimable = Number(/^inactive_file (\d+)$/m.exec(stat ?? '')?.[1] ?? 0)
    return {
      memory_used_bytes: Math.max(0, Number(current) - reclaimable),
      memory_limit_bytes: bytes,
      memory_source: 'cgroup'
    }
  } catch {
    return null
  }
}

async function machineMemory(): Promise<Memory> {
  const info = await readFile('/proc/meminfo', 'utf8').catch(() => '')
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(info)?.[1]
  const free = available === undefined ? freemem() : Number(available) * 1_024
  return { memory_used_bytes: totalmem() - free, memory_limit_bytes: totalmem(), memory_source: 'machine' }
}
