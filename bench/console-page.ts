/**
 * The console in a browser: first load, a table of 10,000 tasks while 100 of them change per second, and an idle page.
 *
 * Needs `npm run build` and Chromium (its path in CHROMIUM, else /usr/bin/chromium).
 *
 *   node --import tsx --conditions=svc-source bench/console-page.ts [--json] [--seconds N] [--tasks N]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CDPSession, chromium, type Page } from 'playwright-core'
import { endWithoutBrowser } from './end-without-browser.ts'
import { isSmoke } from './smoke-mode.ts'

const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
const CHANGES_PER_SECOND = 100
const CLOCK_TICKS = 100

endWithoutBrowser()
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: isSmoke ? '2' : '15' },
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

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-console-'))
writeFileSync(join(folder, 'svc.toml'), '')
const agent = new Agent({ keepAlive: true, maxSockets: 16 })
const { child, url } = await serve()
try {
  const ids = await submitTasks(url)
  const results = await measure(url, child.pid as number, ids)
  if (values.json) process.stdout.write(`${JSON.stringify({ results })}\n`)
  else for (const [name, value] of Object.entries(results)) process.stdout.write(`${name}: ${value}\n`)
} finally {
  child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function serve(): Promise<{ child: ChildProcess; url: string }> {
  // Without the fleet the tasks are not worked on, so that an idle page can be measured.
  const free = [
    'plugins.http.port=0',
    'plugins.daemon.socket=127.0.0.1:0',
    'plugins.model-server.port=0',
    'plugins.agent-fleet.enabled=false'
  ]
  const argv = [SVC, 'serve', '--json', ...free.flatMap(setting => ['--set', setting])]
  const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let url = ''
  const lines = createInterface({ input: child.stderr })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', line => {
      url = /main listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? url
      if (line.includes('console: http')) resolve()
    })
    void once(child, 'exit').then(() => reject(new Error('svc serve ended')))
  })
  return { child, url }
}

/** Sends JSON and returns the answer. */
function post(url: string, body: unknown): Promise<any> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => {
        if (response.statusCode === 200 || response.statusCode === 201) resolve(JSON.parse(text))
        else reject(new Error(`${url}: ${response.statusCode} ${text}`))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

async function submitTasks(url: string): Promise<string[]> {
  const ids: string[] = []
  let next = 0
  const submitter = async (): Promise<void> => {
    while (next < tasks) {
      const at = next++
      const { task_id } = await post(`${url}/api/orchestrator/tasks`, { description: `Task number ${at} of the bench` })
      ids.push(String(task_id))
    }
  }
  await Promise.all(Array.from({ length: 16 }, submitter))
  // Agents work on the first tasks, whose priority is fixed then.
  return ids.slice(Math.min(100, tasks / 2))
}

async function measure(url: string, pid: number, ids: readonly string[]): Promise<ConsolePageResults> {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
  })
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
    await page.goto(signIn())
    await page.locator('nav[aria-label="pages"]').waitFor()
    const first_load_bytes = bytes
    const started = performance.now()
    await page.goto(`${url}/ui/p/orchestrator-tools/tasks`)
    await page.locator('[role=row]').nth(1).waitFor()
    const first_list_ms = performance.now() - started
    await page.getByText(`${new Intl.NumberFormat('en-US').format(tasks)} rows`).waitFor()

    const changing = await whileChanging(url, ids, page, cdp, pid)
    await page.goto(`${url}/ui/p/orchestrator-tools/tasks`)
    await page.locator('[role=row]').nth(1).waitFor()
    await sleep(2_000)
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

async function whileChanging(url: string, ids: readonly string[], page: Page, cdp: CDPSession, pid: number) {
  let isOver = false
  let at = 0
  const change = async (): Promise<void> => {
    const priorities = ['Urgent', 'Normal', 'Background']
    const every = 1_000 / CHANGES_PER_SECOND
    const begun = performance.now()
    for (let count = 0; !isOver; count++) {
      const wait = begun + count * every - performance.now()
      if (wait > 0) await sleep(wait)
      const id = ids[at++ % ids.length] as string
      void post(`${url}/api/orchestrator/tasks/${id}/priority`, { priority: priorities[at % 3] }).catch(error => {
        if (!isOver) throw error
      })
    }
  }
  const changes = change()
  await sleep(1_000)
  await page.evaluate('interactions.length = 0; frames.length = 0')
  const filter = page.locator('input[data-filter]').first()
  const { server, tab } = await shares(cdp, pid, async () => {
    const end = performance.now() + seconds * 1_000
    while (performance.now() < end) {
      await filter.press('1')
      await sleep(150)
      await filter.press('Backspace')
      await sleep(150)
      await page.mouse.wheel(0, 400)
      await sleep(100)
    }
  })
  isOver = true
  await changes
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

/** Returns an address that signs the browser in. */
function signIn(): string {
  const output = execFileSync(process.execPath, [SVC, 'dashboard', '--print', '--json'], { cwd: folder })
  return JSON.parse(output.toString()).url as string
}
