/**
 * The console for an hour: three open pages while 100 tasks change per second. Samples the heaps of the server and of each
 * page after a full garbage collection, and fails if one of them grows.
 *
 * Needs `npm run build` and Chromium (its path in CHROMIUM, else /usr/bin/chromium).
 *
 *   node --import tsx --conditions=svc-source bench/console-soak.ts [--json] [--minutes N] [--tasks N]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { CDPSession } from 'playwright-core'
import { WebSocket } from 'ws'
import { launchChromium, openConsoleServer } from './console-server.ts'
import { endWithoutBrowser } from './end-without-browser.ts'
import { isSmoke } from './smoke-mode.ts'

const CHANGES_PER_SECOND = 100
const SAMPLE_MS = isSmoke ? 250 : 60_000
/** Growth in KB per minute that counts as a leak: 1 % of a heap of 60 MB in an hour. */
const MAX_GROWTH = 10
/**
 * Milliseconds after which waiting tasks are cancelled. Short, so that the lists of ended and removed tasks and the log
 * in memory are full before the second half, whose growth is measured.
 */
const TASK_TIMEOUT_MS = 240_000
const PAGES = ['orchestrator-tools/tasks', 'observability/requests', 'observability/logs']

endWithoutBrowser()
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    minutes: { type: 'string', default: isSmoke ? '0.025' : '60' },
    tasks: { type: 'string', default: isSmoke ? '200' : '2000' }
  }
})

/** A heap over time. */
export interface HeapCurve {
  readonly name: string
  /** Used bytes after a garbage collection, one each minute. */
  readonly samples: readonly number[]
  /** Slope of the second half, by least squares, in KB per minute. */
  readonly growth: number
}

const server = await openConsoleServer({
  debug: true,
  settings: [`plugins.orchestrator.task_timeout_ms=${TASK_TIMEOUT_MS}`]
})
const browser = await launchChromium()
try {
  const debug = await openDebugger(server.debuggerUrl as string)
  const ids = await server.submitTasks(Number(values.tasks))
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const first = await context.newPage()
  await first.goto(server.signIn())
  await first.locator('nav[aria-label="pages"]').waitFor()
  await first.close()
  const heaps: { readonly name: string; readonly samples: number[]; used(): Promise<number> }[] = [
    { name: 'server', samples: [], used: () => serverHeap(debug) }
  ]
  for (const name of PAGES) {
    const page = await context.newPage()
    await page.goto(`${server.url}/ui/p/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const cdp = await context.newCDPSession(page)
    heaps.push({ name, samples: [], used: () => pageHeap(cdp) })
  }
  const end = server.changeTasks(ids, CHANGES_PER_SECOND)
  const until = performance.now() + Number(values.minutes) * 60_000
  while (performance.now() < until) {
    await sleep(SAMPLE_MS)
    for (const heap of heaps) heap.samples.push(await heap.used())
    if (!values.json)
      process.stdout.write(`${heaps.map(heap => `${heap.name} ${shown(heap.samples.at(-1))}`).join(', ')}\n`)
  }
  await end()
  debug.close()
  const curves = heaps.map(({ name, samples }): HeapCurve => ({ name, samples, growth: growthOf(samples) }))
  if (values.json) process.stdout.write(`${JSON.stringify({ results: curves })}\n`)
  else for (const { name, growth } of curves) process.stdout.write(`${name}: ${growth.toFixed(1)} KB per minute\n`)
  if (!isSmoke && curves.some(({ growth }) => growth > MAX_GROWTH)) process.exitCode = 1
} finally {
  await browser.close()
  server.close()
}

function shown(bytes = 0): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

interface Debugger {
  send(method: string, params?: object): Promise<any>
  close(): void
}

/** Connects to the debugger of Node (Chrome DevTools Protocol). */
async function openDebugger(url: string): Promise<Debugger> {
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const pending = new Map<number, (result: unknown) => void>()
  socket.on('message', data => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: unknown }
    if (id === undefined) return
    pending.get(id)?.(result)
    pending.delete(id)
  })
  let last = 0
  return {
    send: (method, params = {}) =>
      new Promise(resolve => {
        last += 1
        pending.set(last, resolve)
        socket.send(JSON.stringify({ id: last, method, params }))
      }),
    close: () => socket.close()
  }
}

async function serverHeap(debug: Debugger): Promise<number> {
  await debug.send('HeapProfiler.collectGarbage')
  const { usedSize } = await debug.send('Runtime.getHeapUsage')
  return usedSize
}

async function pageHeap(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  return usedSize
}

function growthOf(samples: readonly number[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const middle = (half.length - 1) / 2
  const mean = half.reduce((sum, each) => sum + each, 0) / half.length
  let [above, below] = [0, 0]
  for (const [at, each] of half.entries()) {
    above += (at - middle) * (each - mean)
    below += (at - middle) ** 2
  }
  return below === 0 ? 0 : ((above / below) * (60_000 / SAMPLE_MS)) / 1024
}
