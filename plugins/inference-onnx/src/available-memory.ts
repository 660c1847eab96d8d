import { readFile } from 'node:fs/promises'
import { freemem } from 'node:os'
import { join } from 'node:path'
import type { AvailableMemory } from './memory-plan.ts'

/**
 * Returns the memory that this process can still allocate: the free memory of the machine or the rest of the cgroup
 * limit, whichever is less. Reclaimable file pages count as free. `root` is `/` except in tests.
 */
export async function availableMemory(root = '/'): Promise<AvailableMemory> {
  const [machine, group] = await Promise.all([machineMemory(root), groupMemory(root)])
  if (group !== null && group < machine) return { bytes: group, source: 'the rest of the cgroup limit' }
  return { bytes: machine, source: 'free memory of the machine' }
}

async function machineMemory(root: string): Promise<number> {
  const text = await read(root, '/proc/meminfo')
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(text ?? '')?.[1]
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024
}

/**
 * Returns the rest of the cgroup limit; null if there is no limit. In both cgroup versions, limits of parents apply.
 */
async function groupMemory(root: string): Promise<number | null> {
  const lines = ((await read(root, '/proc/self/cgroup')) ?? '').split('\n')
  const paths = lines.flatMap(line => {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (line.startsWith('0::')) return [{ base: '/sys/fs/cgroup', path, limit: 'memory.max', used: 'memory.current' }]
    if (!controllers.split(',').includes('memory')) return []
    const files = { limit: 'memory.limit_in_bytes', used: 'memory.usage_in_bytes' }
    return [{ base: '/sys/fs/cgroup/memory', path, ...files }]
  })
  let free: number | null = null
  for (const { base, path, limit, used } of paths) {
    const steps = path.split('/').filter(step => step !== '')
    for (let depth = steps.length; depth >= 0; depth--) {
      const folder = join(base, ...steps.slice(0, depth))
      const [max, current] = [await number(root, join(folder, limit)), await number(root, join(folder, used))]
      if (max === null || current === null) continue
      const reclaimable = /^(?:total_)?inactive_file (\d+)/m.exec((await read(root, join(folder, 'memory.stat'))) ?? '')
      const left = Math.max(0, max - current + Number(reclaimable?.[1] ?? 0))
      free = Math.min(free ?? left, left)
    }
  }
  return free
}

/** Reads a number; null if there is none or no limit. For no limit, v1 writes a huge number and v2 the word `max`. */
async function number(root: string, file: string): Promise<number | null> {
  const text = await read(root, file)
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isNaN(value) || value >= 2 ** 60 ? null : value
}

function read(root: string, file: string): Promise<string | null> {
  return readFile(join(root, file), 'utf8').catch(() => null)
}
