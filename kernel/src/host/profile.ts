import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly url: string; readonly functionName: string }
  readonly children?: readonly number[]
}

/** Owners of samples without a function. `node` is native code, including this profiler's own work. */
const ENGINE: Readonly<Record<string, string>> = { '(idle)': 'idle', '(garbage collector)': 'gc', '(program)': 'node' }

/** Profiling takes tens of milliseconds below kernel frames. They are attributed to Node. */
const PROFILER = 'node:inspector'

/**
 * Measures CPU microseconds by owner with V8's sampling profiler. A sample belongs to the innermost stack frame with an
 * owner, so the work of a library counts for the plugin that calls it.
 */
export async function sampleCpu(
  milliseconds: number,
  ownerOf: (file: string) => string | undefined,
  signal?: AbortSignal
): Promise<ReadonlyMap<string, number>> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 1_000 })
    await session.post('Profiler.start')
    await forgetOptimizedCode(session)
    await pause(milliseconds, signal)
    const { profile } = await session.post('Profiler.stop')
    return shares(profile.nodes as ProfileNode[], profile.samples ?? [], profile.timeDeltas ?? [], ownerOf)
  } finally {
    session.disconnect()
  }
}

/**
 * Discards optimized code. V8 does not record inlined functions in it, so a plugin's busy handler would count for the
 * kernel. Precise coverage makes V8 optimize all code again, with the profiler attached.
 */
async function forgetOptimizedCode(session: Session): Promise<void> {
  // Test coverage is being measured and must not be disturbed.
  if (process.env.NODE_V8_COVERAGE !== undefined) return
  await session.post('Profiler.startPreciseCoverage', { callCount: false })
  await session.post('Profiler.stopPreciseCoverage')
}

function shares(
  nodes: readonly ProfileNode[],
  samples: readonly number[],
  deltas: readonly number[],
  ownerOf: (file: string) => string | undefined
): Map<string, number> {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const owners = new Map<number, string>()
  const walk = (id: number, inherited: string): void => {
    const node = byId.get(id)
    if (node === undefined) return
    const { url, functionName } = node.callFrame
    const own = url === '' ? undefined : ownerOf(url.startsWith('file:') ? fileURLToPath(url) : url)
    const owner = ENGINE[functionName] ?? (url === PROFILER ? 'node' : (own ?? inherited))
    owners.set(id, owner)
    for (const child of node.children ?? []) walk(child, owner)
  }
  const children = new Set(nodes.flatMap(node => node.children ?? []))
  for (const node of nodes) if (!children.has(node.id)) walk(node.id, 'kernel')
  const total = new Map<string, number>()
  samples.forEach((id, index) => {
    const owner = owners.get(id) ?? 'kernel'
    total.set(owner, (total.get(owner) ?? 0) + (deltas[index] ?? 0))
  })
  return total
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(done, milliseconds)
    function done(): void {
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    function abort(): void {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}
