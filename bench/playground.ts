/**
 * Time to the first token of the bundled model: the OpenAI route, the console's call door, and the playground in a
 * browser, from the key press to the text in the page. The three take turns, each with a new prompt of equal length.
 *
 * Needs `npm run build` and Chromium (its path in CHROMIUM, else /usr/bin/chromium).
 *
 *   node --import tsx --conditions=svc-source bench/playground.ts [--json] [--rounds N]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import { endWithoutBrowser } from './end-without-browser.ts'
import { isSmoke } from './smoke-mode.ts'

const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))

endWithoutBrowser()
const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: isSmoke ? '3' : '40' } }
})
const rounds = Number(values.rounds)

/** Medians in milliseconds, and by how much they exceed the OpenAI route. */
export interface PlaygroundResults {
  readonly rounds: number
  readonly openai_ms: number
  readonly call_door_ms: number
  readonly playground_ms: number
  readonly call_door_over_openai_ms: number
  readonly playground_over_openai_ms: number
}

/** Measures from a press of Enter to the first text of an answer in the page. */
const OBSERVER = `
  window.firstText = () => new Promise(resolve => {
    let started
    addEventListener('keydown', event => { if (event.key === 'Enter') started = performance.now() }, { capture: true, once: true })
    const root = [...document.querySelectorAll('*')].find(each => each.shadowRoot !== null).shadowRoot
    const observer = new MutationObserver(() => {
      const text = root.querySelector('.answer .markdown')?.textContent ?? ''
      if (text === '' || started === undefined) return
      observer.disconnect()
      resolve(performance.now() - started)
    })
    observer.observe(root, { childList: true, subtree: true, characterData: true })
  })
`

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-playground-'))
writeFileSync(join(folder, 'svc.toml'), '')
const agent = new Agent({ keepAlive: true })
let prompts = 0
const { child, main, model } = await serve()
try {
  const results = await measure()
  if (values.json) process.stdout.write(`${JSON.stringify({ results })}\n`)
  else for (const [name, value] of Object.entries(results)) process.stdout.write(`${name}: ${value}\n`)
} finally {
  agent.destroy()
  child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function serve(): Promise<{ child: ChildProcess; main: string; model: string }> {
  const free = ['plugins.http.port=0', 'plugins.daemon.socket=127.0.0.1:0', 'plugins.model-server.port=0']
  const argv = [SVC, 'serve', '--json', ...free.flatMap(setting => ['--set', setting])]
  const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const found = { main: '', 'model-server': '' }
  const waiting = new Set(['main listens', 'model-server listens', "model 'vox-tiny' is ready", 'console: http'])
  const lines = createInterface({ input: child.stderr })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', line => {
      const [, name, url] = /(main|model-server) listens on (http:\/\/[^\s"]+)/.exec(line) ?? []
      if (name !== undefined) found[name as keyof typeof found] = url as string
      for (const mark of waiting) if (line.includes(mark)) waiting.delete(mark)
      if (waiting.size === 0) resolve()
    })
    void once(child, 'exit').then(() => reject(new Error('svc serve ended')))
  })
  return { child, main: found.main, model: found['model-server'] }
}

/** Returns an address that signs a browser in. */
function signIn(): string {
  const argv = [SVC, 'dashboard', '--print']
  const printed = execFileSync(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  const [url] = /http:\S+/.exec(printed) ?? []
  if (url === undefined) throw new Error(`svc dashboard printed no address: ${printed}`)
  return url
}

/** Posts JSON, and resolves to the milliseconds until the response contains `mark`, once it has ended. */
function untilMark(url: string, body: object, headers: Record<string, string>, mark: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now()
    let found: number | undefined
    let text = ''
    const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } }
    const sent = request(url, options, response => {
      response.on('data', chunk => {
        text += chunk
        if (found === undefined && text.includes(mark)) found = performance.now() - started
      })
      response.on('end', () => {
        if (found === undefined)
          reject(new Error(`${url}: ${response.statusCode} without ${mark}: ${text.slice(0, 300)}`))
        else resolve(found)
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

/** Signs in over HTTP. Returns the headers of later requests. */
async function session(): Promise<Record<string, string>> {
  const origin = { origin: main, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const [, code] = signIn().split('#code=')
  const response = await fetch(`${main}/ui/api/session`, {
    method: 'POST',
    headers: origin,
    body: JSON.stringify({ code })
  })
  if (response.status !== 201) throw new Error(`sign-in failed: ${response.status} ${await response.text()}`)
  const { token } = (await response.json()) as { token: string }
  const [cookie = ''] = response.headers.getSetCookie().map(each => each.split(';')[0] as string)
  return { ...origin, cookie, 'x-svc-token': token, accept: 'text/event-stream' }
}

/** Returns a prompt that no earlier one is a prefix of, so that no cache helps. */
function prompt(): string {
  prompts += 1
  return `${String.fromCharCode(97 + (prompts % 26))}${prompts} is a table of customers with name and email`
}

async function measure(): Promise<PlaygroundResults> {
  const headers = await session()
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
  })
  try {
    const page = await browser.newPage()
    await page.addInitScript(OBSERVER)
    await page.goto(signIn())
    await page.locator('nav[aria-label="pages"]').waitFor()
    await page.goto(`${main}/ui/p/model-server/playground`)
    await page.locator('option[value^="own:"]').first().waitFor({ state: 'attached' })
    const samples = { openai: [] as number[], door: [] as number[], page: [] as number[] }
    const message = () => ({ messages: [{ role: 'user', content: prompt() }], max_tokens: 16, temperature: 0 })
    // The first round warms up all three.
    for (let round = 0; round <= rounds; round++) {
      const body = { ...message(), stream: true }
      const openai = await untilMark(`${model}/v1/chat/completions`, body, {}, '"delta":{"content"')
      const door = await untilMark(`${main}/ui/api/call/model.chat`, message(), headers, 'event: event')
      const shown = await inPage(page)
      if (round === 0) continue
      samples.openai.push(openai)
      samples.door.push(door)
      samples.page.push(shown)
    }
    const [openai, door, shown] = [median(samples.openai), median(samples.door), median(samples.page)]
    return {
      rounds,
      openai_ms: rounded(openai),
      call_door_ms: rounded(door),
      playground_ms: rounded(shown),
      call_door_over_openai_ms: rounded(door - openai),
      playground_over_openai_ms: rounded(shown - openai)
    }
  } finally {
    await browser.close()
  }
}

/** Sends a message with the keyboard in a new chat. Returns the milliseconds to the first text. */
async function inPage(page: Page): Promise<number> {
  const field = page.getByRole('textbox', { name: 'Message', exact: true })
  const clear = page.getByRole('button', { name: 'New chat' })
  if (await clear.isEnabled()) await clear.click()
  await field.fill(prompt())
  const shown = page.evaluate('firstText()') as Promise<number>
  await field.press('Enter')
  const time = await shown
  await page.getByText('Total', { exact: true }).waitFor()
  return time
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
