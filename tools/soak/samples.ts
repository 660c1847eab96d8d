import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeName } from './ledger.ts'
import type { SvcNode } from './svc-node.ts'

/** State of a process at one time. */
export interface Sample {
  readonly time: number
  readonly node: NodeName
  readonly pid: number
  /** Bytes of the process without its children. */
  readonly rss: number
  readonly threads: number
  readonly handles: number
  readonly sockets: number
  readonly children: number
  /** Seconds of CPU time since the start. */
  readonly cpu: number
  /** Bytes of the heap of the main thread after a garbage collection; null between collections. */
  readonly heap: number | null
  /** Active resources of the event loop by kind, with the heap. */
  readonly resources: Readonly<Record<string, number>> | null
  readonly loopDelayMs: number | null
  /** Bytes of each file of the project, with the heap; files of folders with many files are added up. */
  readonly files: Readonly<Record<string, number>> | null
}

const TICKS_PER_SECOND = 100

/** Samples a running node; null if it does not run. `deep`: with heap and files. */
export async function sampleNode(node: SvcNode, deep: boolean): Promise<Sample | null> {
  const { pid } = node
  if (pid === null) return null
  try {
    const process = sampleProcess(pid)
    const memory = deep ? await node.client.json(`${node.http}/soak/memory`).catch(() => null) : null
    const metrics = await node.client.request(`${node.http}/metrics`).catch(() => null)
    const delay = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics?.text ?? '')?.[1]
    return {
      time: Date.now(),
      node: node.name,
      pid,
      ...process,
      heap: memory?.heap ?? null,
      resources: memory?.resources ?? null,
      loopDelayMs: delay === undefined ? null : Number(delay) * 1_000,
      files: deep ? fileSizes(node.folder) : null
    }
  } catch {
    // The process has just ended.
    return null
  }
}

function sampleProcess(pid: number): Pick<Sample, 'rss' | 'threads' | 'handles' | 'sockets' | 'children' | 'cpu'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  const handles = readdirSync(`/proc/${pid}/fd`)
  const sockets = handles.filter(handle => targetOf(`/proc/${pid}/fd/${handle}`).startsWith('socket:'))
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return {
    rss: field('VmRSS') * 1024,
    threads: field('Threads'),
    handles: handles.length,
    sockets: sockets.length,
    children: children.length,
    cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

/** Names of folders whose files are added up. */
const SUMMED = /^\.vox\/(files|cache|plugins|blobs|tmp)\//

/** Returns the sizes of the files of a project by path. */
export function fileSizes(folder: string): Record<string, number> {
  const sizes: Record<string, number> = {}
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) walk(name)
      else if (entry.isFile()) {
        const key = SUMMED.exec(name)?.[0] ?? (name.startsWith('notes/') ? 'notes/' : name)
        try {
          sizes[key] = (sizes[key] ?? 0) + statSync(join(folder, name)).size
        } catch {
          // Removed meanwhile.
        }
      }
    }
  }
  walk('')
  return sizes
}
