import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Plugin } from '../plugin.ts'
import { type TestPluginOptions, testPlugin } from './kernel.ts'

/** Snapshot of the resources of a process that may leak. */
interface ResourceSnapshot {
  readonly resources: ReadonlyMap<string, number>
  readonly listeners: ReadonlyMap<string, number>
  readonly globals: ReadonlySet<string>
}

function takeSnapshot(): ResourceSnapshot {
  const resources = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) resources.set(kind, (resources.get(kind) ?? 0) + 1)
  const listeners = new Map(process.eventNames().map(name => [String(name), process.listenerCount(name)]))
  return { resources, listeners, globals: new Set(Object.keys(globalThis)) }
}

/**
 * Runs a function and throws if the process has more resources afterwards: timers, sockets, servers, child processes,
 * process listeners or global variables. Waits for resources that are still closing.
 */
export async function assertNoLeaks(run: () => Promise<void>): Promise<void> {
  const before = takeSnapshot()
  await run()
  let found: string[] = []
  for (let turn = 0; turn < 50; turn++) {
    await new Promise(resolve => (turn < 10 ? setImmediate(resolve) : setTimeout(resolve, 10)))
    found = compare(before, takeSnapshot())
    if (found.length === 0) return
  }
  throw new Error(`left open: ${found.join(', ')}`)
}

function compare(before: ResourceSnapshot, after: ResourceSnapshot): string[] {
  const more = (kind: string, a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): string[] =>
    [...b]
      .filter(([name, count]) => count > (a.get(name) ?? 0))
      .map(([name, count]) => `${count - (a.get(name) ?? 0)} ${kind} ${name}`)
  return [
    ...more('active', before.resources, after.resources).filter(line => !line.endsWith('Immediate')),
    ...more('process listener', before.listeners, after.listeners),
    ...[...after.globals].filter(name => !before.globals.has(name)).map(name => `global variable ${name}`)
  ]
}

/**
 * Returns the number of entries that Node keeps in a signal: its listeners, and references to the results of
 * `AbortSignal.any`, which Node 20 removes only together with the signal.
 */
export function signalEntries(signal: AbortSignal): number {
  const fields = signal as unknown as Readonly<Record<symbol, { readonly size?: number } | undefined>>
  const results = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals')
  return getEventListeners(signal, 'abort').length + (results === undefined ? 0 : (fields[results]?.size ?? 0))
}

export interface SoakReport {
  readonly reloads: number
  /** Heap growth per reload in bytes. */
  readonly heapPerReload: number
}

/**
 * Reloads a plugin many times and reports the heap growth per reload. Calls `make` for each reload, so that instances
 * share nothing by accident. The first quarter of the reloads fills caches and is not counted.
 */
export async function reloadSoak(
  make: () => Plugin,
  { reloads = 200, ...options }: TestPluginOptions & { readonly reloads?: number } = {}
): Promise<SoakReport> {
  const kernel = await testPlugin(make(), options)
  try {
    const warm = Math.ceil(reloads / 4)
    for (let index = 0; index < warm; index++) await kernel.replace(make())
    const start = settledHeap()
    for (let index = warm; index < reloads; index++) await kernel.replace(make())
    return { reloads, heapPerReload: (settledHeap() - start) / (reloads - warm) }
  } finally {
    await kernel.close()
  }
}

function settledHeap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 6; round++) collect()
  return process.memoryUsage().heapUsed
}
