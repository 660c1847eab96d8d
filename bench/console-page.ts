/**
 * The console in a browser: first load, a table of 10,000 tasks while 100 of them change per second, and an idle page.
 *
 * Needs `npm run build` and Chromium (its path in CHROMIUM, else /usr/bin/chromium).
 *
 *   node --import tsx --conditions=svc-source bench/console-page.ts [--json] [--seconds N] [--tasks N]
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { CDPSession, Page } from 'playwright-core'
import { type ConsoleServer, launchChromium, openConsoleServer } from './console-server.ts'
import { endWithoutBrowser } from './end-without-browser.ts'
import { isSmoke } from './smoke-mode.ts'

const CHANGES_PER_SECOND = 100
const CLOCK_TICKS = 100

endWithoutBrowser()
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: isSmoke ? '0.5' : '15' },
    tasks: { type: 'string', default: isSmoke ? '200' : '10000' }
  }
})
const seconds = Number(values.seconds)
const tasks = Number(values.tasks)

/** Results of the benchmark. Shares are of one core. */
export interface ConsolePageResults {
  readonly tasks: number
  /** Bytes of the first load over the network, compressed. */
  readonly first_load_bytes: number
  /** Milliseconds from the navigation to the first row. */
  readonly first_list_ms: number
  /** Milliseconds from a key press to the next paint, 95th percentile, while tasks change. */
  readonly interaction_p95_ms: number
  /** Animation frames of over 50 ms while tasks change; Chromium's definition of a long frame. */
  readonly long_frames: number
  readonly longest_frame_ms: number
  readonly changing_server_share: number
  readonly changing_tab_share: number
  readonly idle_server_share: number
  readonly idle_tab_share: number
}

/** Records key presses with their time to the next paint, and long frames. */
const OBSERVERS = `
  window.interactions = []
  window.frames = []
  new PerformanceObserver(list => window.interactions.push(...list.getEntries().filter(each => each.interactionId > 0).map(each => each.duration)))
    .observe({ type: 'event', durationThreshold: 16, buffered: true })
  new PerformanceObserver(list => window.frames.push(...list.getEntries().map(each => each.duration)))
    .observe({ type: 'long-animation-frame', buffered: true })
`

const server = await openConsoleServer()
try {
  const ids = await server.submitTasks(tasks)
  const results = await measure(server, ids)
  if (values.json) process.stdout.write(`${JSON.stringify({ results })}\n`)
  else for (const [name, value] of Object.entries(results)) process.stdout.write(`${name}: ${value}\n`)
} finally {
  server.close()
}

async function measure(server: ConsoleServer, ids: readonly string[]): Promise<ConsolePageResults> {
  const { url, pid } = server
  const browser = await launchChromium()
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    await context.addInitScript(OBSERVERS)
    const page = await context.newPage()
    const cdp = await context.newCDPSession(page)
    await cdp.send('Performance.enable')
    await cdp.send('Network.enable')
    let bytes = 0
    cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(server.signIn())
    await page.locator('nav[aria-label="pages"]').waitFor()
    const first_load_bytes = bytes
    const started = performance.now()
    await page.goto(`${url}/ui/p/orchestrator-tools/tasks`)
    await page.locator('[role=row]').nth(1).waitFor()
    const first_list_ms = performance.now() - started
    await page.getByText(`${new Intl.NumberFormat('en-US').format(tasks)} rows`).waitFor()

    const changing = await whileChanging(server, ids, page, cdp)
    await page.goto(`${url}/ui/p/orchestrator-tools/tasks`)
    await page.locator('[role=row]').nth(1).waitFor()
    await sleep(isSmoke ? 100 : 2_000)
    const idle = await shares(cdp, pid, () => sleep(seconds * 1_000))
    return {
      tasks,
      first_load_bytes,
      first_list_ms,
      ...changing,
      idle_server_share: idle.server,
      idle_tab_share: idle.tab
    }
  } finally {
    await browser.close()
  }
}

async function whileChanging({ pid, changeTasks }: ConsoleServer, ids: readonly string[], page: Page, cdp: CDPSession) {
  const end = changeTasks(ids, CHANGES_PER_SECOND)
  await sleep(isSmoke ? 100 : 1_000)
  await page.evaluate('interactions.length = 0; frames.length = 0')
  const filter = page.locator('input[data-filter]').first()
  const { server, tab } = await shares(cdp, pid, async () => {
    const until = performance.now() + seconds * 1_000
    while (performance.now() < until) {
      await filter.press('1')
      await sleep(150)
      await filter.press('Backspace')
      await sleep(150)
      await page.mouse.wheel(0, 400)
      await sleep(100)
    }
  })
  await end()
  const interactions = (await page.evaluate<number[]>('interactions')).toSorted((a, b) => a - b)
  const frames = await page.evaluate<number[]>('frames')
  return {
    // Events below the observer's threshold of 16 ms are not reported.
    interaction_p95_ms: interactions[Math.floor(interactions.length * 0.95)] ?? 16,
    long_frames: frames.length,
    longest_frame_ms: Math.max(0, ...frames),
    changing_server_share: server,
    changing_tab_share: tab
  }
}

/** Measures the share of one core that the server and the page use while something runs. */
async function shares(cdp: CDPSession, pid: number, run: () => Promise<void>) {
  const begun = performance.now()
  const server = cpuSeconds(pid)
  const tab = await taskSeconds(cdp)
  await run()
  const elapsed = (performance.now() - begun) / 1_000
  return { server: (cpuSeconds(pid) - server) / elapsed, tab: ((await taskSeconds(cdp)) - tab) / elapsed }
}

/** CPU time of a process in seconds, from /proc (man 5 proc, fields 14 and 15). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS
}

/** Seconds that the page's main thread was busy. */
async function taskSeconds(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
}
