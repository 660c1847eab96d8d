import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import engine from '@svc/plugin-inference-onnx'
import { isSvcError, type Plugin } from '@svc/plugin-sdk'
import axe from 'axe-core'
import { build } from 'esbuild'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

const CHROMIUM = '/usr/bin/chromium'
const skip =
  process.env.SVC_TEST_BROWSER === 'required' || existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`
const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking']
const BUNDLED = fileURLToPath(new URL('../models/vox-tiny', import.meta.url))
/** As the console sends it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types svc"
const TOKENS =
  ':root{color-scheme:light dark;--bg:light-dark(#f6f7f9,#0f1115);--surface:light-dark(#fff,#171a21);--surface-2:light-dark(#eef0f4,#20242d);--text:light-dark(#171b24,#e8eaf0);--text-dim:light-dark(#565e6e,#a0a8b8);--border:light-dark(#dde1e8,#2b303b);--accent:light-dark(#4338ca,#a5b0ff);--accent-text:light-dark(#fff,#11131f);--ok:light-dark(#17663a,#6fd49a);--warn:light-dark(#7a4b00,#f0bd62);--bad:light-dark(#a8201a,#ff9c94);--radius:8px;--font-mono:monospace}body{margin:12px;background:var(--bg);color:var(--text)}'
const HTML =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Playground</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/tokens.css"><script type="module" src="/host.js"></script></head><body><main><h1>Playground</h1><h2>Chat</h2><div id="host"></div></main></body></html>'

let compiled: Promise<Readonly<Record<string, string>>> | undefined

/** Compiles the page and its host for the browser, once. */
function scripts(): Promise<Readonly<Record<string, string>>> {
  const compile = async (file: string): Promise<string> => {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      tsconfigRaw: {},
      external: ['/playground.js*']
    })
    return outputFiles[0]?.text ?? ''
  }
  compiled ??= Promise.all([compile('../page/playground.tsx'), compile('../page/test/host.ts')]).then(
    ([page, host]) => ({ '/playground.js': page, '/host.js': host })
  )
  return compiled
}

let browser: Promise<Browser> | undefined

/** Returns the browser that all tests of this file share. It is launched for the first one. */
async function launched(): Promise<Browser> {
  if (browser === undefined) {
    browser = chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
    t.teardown(async () => (await browser)?.close())
  }
  return browser
}

interface Opened {
  readonly page: Page
  /** Errors of the console and uncaught errors. */
  readonly problems: string[]
}

interface OpenOptions {
  readonly engine?: Plugin
  readonly settings?: object
  readonly context?: BrowserContextOptions
}

/** Opens the page in Chromium. Its calls reach the model server over HTTP. */
async function open(t: Test, { engine, settings, context = {} }: OpenOptions = {}): Promise<Opened> {
  const { kernel } = await openServer(t, [engine ?? toy()], {
    model: t.testdir({ run: { 'config.json': '{}' } }).concat('/run'),
    max_tokens: 300,
    ...settings
  })
  const files = await scripts()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split('?')[0] ?? '/'
    if (path === '/')
      return void response.setHeader('content-security-policy', POLICY).setHeader('content-type', 'text/html').end(HTML)
    if (path === '/tokens.css') return void response.setHeader('content-type', 'text/css').end(TOKENS)
    const script = files[path]
    if (script !== undefined) return void response.setHeader('content-type', 'text/javascript').end(script)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const cancel = new AbortController()
    response.on('close', () => cancel.abort())
    const send = (value: object) => response.write(`${JSON.stringify(value)}\n`)
    try {
      const input: unknown = JSON.parse(Buffer.concat(chunks).toString())
      const onEvent = (event: unknown) => void send({ event })
      const id = path.replace('/call/', '')
      send({ output: await kernel.callById(id, input, { signal: cancel.signal, onEvent }) })
    } catch (error) {
      const { code, message, hint } = isSvcError(error)
        ? error
        : { code: 'FAILED', message: String(error), hint: undefined }
      send({ error: { code, message, hint, requestId: 'r-1' } })
    }
    response.end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const browserContext = await (await launched()).newContext({
    permissions: ['clipboard-read', 'clipboard-write'],
    ...context
  })
  t.teardown(() => browserContext.close())
  await browserContext.addInitScript(axe.source)
  const page = await browserContext.newPage()
  page.setDefaultTimeout(20_000)
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await page.locator('option[value^="own:"]').first().waitFor({ state: 'attached' })
  return { page, problems }
}

function toy(options: ToyOptions = {}): Plugin {
  return toyPlugin(new ToyEngine({ contextLength: 8000, ...options }))
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('textbox', { name: 'Message' }).press('Enter')
}

/** Runs a command that the page copied. */
const run = (command: string) => promisify(execFile)('/bin/sh', ['-c', command])

const clipboard = (page: Page) => page.evaluate('navigator.clipboard.readText()') as Promise<string>

const answers = (page: Page) => page.getByRole('article')
const finished = (page: Page, count: number) =>
  page
    .getByText('Total')
    .nth(count - 1)
    .waitFor()

/** Returns the findings of axe-core, the violations of the policy and the problems of the page. */
async function findings({ page, problems }: Opened): Promise<string[]> {
  const found = (await page.evaluate(`axe.run(document).then(({ violations }) => [
    ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.html).join(' | ')),
    ...window.violations
  ])`)) as string[]
  return [...found, ...problems]
}

t.test('a person chats with the keyboard: send, new line, edit, regenerate, copy', { skip }, async t => {
  const opened = await open(t)
  const { page } = opened
  const message = page.getByRole('textbox', { name: 'Message', exact: true })
  await message.fill('first line')
  await message.press('Shift+Enter')
  await message.pressSequentially('second')
  await message.press('Enter')
  await finished(page, 1)
  t.match(await answers(page).first().innerText(), /first line\nsecond/)
  t.equal(await message.inputValue(), '')
  for (const name of ['First token', 'Tokens/s', 'Answer'])
    t.ok(await page.getByText(name, { exact: true }).isVisible(), name)

  await say(page, 'another')
  await finished(page, 2)
  await page.getByRole('button', { name: 'Edit the message' }).first().click()
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('changed')
  await page.getByRole('button', { name: 'Send again, and remove what follows' }).press('Enter')
  await page.getByRole('article').getByText('changed').waitFor()
  await finished(page, 1)
  t.equal(await answers(page).count(), 1, 'the later message is gone')

  await page.getByRole('button', { name: 'Regenerate' }).press('Enter')
  await finished(page, 1)
  t.match(await answers(page).first().innerText(), /changed/)
  await page.getByRole('button', { name: 'Copy as curl' }).press('Enter')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const curl = await clipboard(page)
  t.match(curl, /^curl -N 'http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions'/)
  const { stdout } = await run(curl)
  t.match(stdout, /"content":"c".*\[DONE\]/s, 'the copied command works')
  t.same(await findings(opened), [])
})

t.test('stop ends a running answer, by button and by Escape', { skip }, async t => {
  const engine = new ToyEngine({
    contextLength: 8000,
    beforeToken: generated => (generated < 3 ? undefined : new Promise(resolve => setTimeout(resolve, 50)))
  })
  const { page, problems } = await open(t, { engine: toyPlugin(engine) })
  await say(page, 'x'.repeat(200))
  await page.getByText('xxx').nth(1).waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped.').waitFor()
  const ended = (): number => engine.models[0]?.ended.length ?? 0
  await until(() => ended() === 1)
  await say(page, 'y'.repeat(200))
  await page.getByText('yyy').nth(1).waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('Stopped.').nth(1).waitFor()
  await until(() => ended() === 2)
  t.ok((engine.models[0]?.generated ?? 0) < 300, 'the server stopped too')
  t.same(problems, [])
})

t.test('calls are cards whose results the person types; thoughts are folded', { skip }, async t => {
  const opened = await open(t, {
    engine: toy({ chatTemplate: '<tool_call> <think> enable_thinking', capabilities: { tools: true, thinking: true } })
  })
  const { page } = opened
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByText('Tools', { exact: true }).click()
  await page.getByRole('button', { name: 'Insert an example' }).first().click()
  await say(
    page,
    '<think>\nsecret plan\n</think>\n\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn", "days": 2}}\n</tool_call>'
  )
  await page.getByText('Calls weather').waitFor()
  t.notOk(await page.locator('.thinking .plain').isVisible(), 'thoughts are folded')
  await page.locator('summary', { hasText: 'Thoughts' }).click()
  t.match(await page.locator('.thinking').innerText(), /secret plan/)
  await page.getByRole('textbox', { name: 'Result of weather' }).fill('{"rain": true}')
  await page.getByRole('button', { name: 'Send result' }).click()
  await finished(page, 2)
  await page.getByRole('button', { name: 'Copy as JSON' }).nth(1).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const body = JSON.parse(await clipboard(page))
  t.match(body.messages, [
    { role: 'user' },
    { role: 'assistant', reasoning_content: 'secret plan', tool_calls: [{ function: { name: 'weather' } }] },
    { role: 'tool', content: '{"rain": true}' }
  ])
  t.same(await findings(opened), [])
})

t.test('a schema constrains the answer; mistakes are shown at the field', { skip }, async t => {
  const opened = await open(t)
  const { page } = opened
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByText('JSON Schema of the answer', { exact: true }).click()
  const field = page.getByRole('textbox', { name: 'JSON Schema of the answer' })
  await field.fill('{"type": ')
  await page.getByText(/^Not JSON/).waitFor()
  await say(page, 'hello')
  await page.locator('textarea[name=schema]:focus').waitFor()
  t.equal(await answers(page).count(), 0, 'nothing was sent')
  await field.fill('[]')
  await page.getByText('A JSON Schema must be an object.').waitFor()
  await field.fill('{"type": "object", "properties": {"toy": {"type": "boolean"}}}')
  await page.getByRole('textbox', { name: 'Message' }).press('Enter')
  await page.getByText('Valid against the schema').waitFor()
  t.match(await answers(page).first().innerText(), /"toy": ?true/)
  await page.getByRole('textbox', { name: 'Temperature' }).fill('7')
  await page.getByText('Temperature must be from 0 to 2').waitFor()
  t.same(await findings(opened), [])
})

t.test('errors of the server are shown with hint and request id', { skip }, async t => {
  const { page } = await open(t)
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByText('Tools', { exact: true }).click()
  await page.getByRole('button', { name: 'Insert an example' }).first().click()
  await say(page, 'hello')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  t.match(await alert.innerText(), /run does not support tools[\s\S]*MSV_UNSUPPORTED[\s\S]*r-1/)
})

t.test('hostile text stays text', { skip }, async t => {
  const opened = await open(t)
  const { page } = opened
  const hostile = [
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
    '[click](javascript:window.hacked=1) [data](data:text/html,x) [ok](https://example.com/)',
    '![pixel](https://example.com/pixel.png)',
    '<iframe srcdoc="x"></iframe>'
  ].join('\n\n')
  await say(page, hostile)
  await finished(page, 1)
  const found = await page.evaluate(`(() => {
    const root = document.querySelector('#host').shadowRoot
    const links = [...root.querySelectorAll('a')].map(({ href, rel, target }) => [href, rel, target].join(' '))
    return { elements: root.querySelectorAll('img, script, iframe').length, links, hacked: 'hacked' in window }
  })()`)
  t.same(found, {
    elements: 0,
    links: ['https://example.com/ noopener noreferrer nofollow _blank'],
    hacked: false
  })
  const text = await answers(page).first().innerText()
  for (const part of [
    '<img src=x onerror=',
    '<script>window.hacked=1</script>',
    'javascript:window.hacked=1',
    '![pixel]'
  ])
    t.ok(text.includes(part), part)
  t.same(await findings(opened), [])
})

t.test('new code keeps the conversation, the settings and the draft', { skip }, async t => {
  const { page, problems } = await open(t)
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('textbox', { name: 'System prompt' }).fill('Be kind.')
  await say(page, 'remember me')
  await finished(page, 1)
  await page.getByRole('textbox', { name: 'Message' }).fill('unsent')
  await page.evaluate(`window.remount('2')`)
  await answers(page).getByText('remember me').waitFor()
  t.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'unsent')
  await page.getByRole('button', { name: 'Settings' }).click()
  t.equal(await page.getByRole('textbox', { name: 'System prompt' }).inputValue(), 'Be kind.')
  t.same(problems, [])
})

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`two answers of the bundled model show probabilities, at 390 px, ${colorScheme}`, { skip }, async t => {
    const opened = await open(t, {
      engine,
      settings: { model: BUNDLED, slots: 2, temperature: 0.7, max_tokens: 24 },
      context: { colorScheme, viewport: { width: 390, height: 844 } }
    })
    const { page } = opened
    await page.getByRole('checkbox', { name: 'Compare' }).check()
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('checkbox', { name: 'Show probabilities of tokens' }).check()
    await page.getByRole('button', { name: 'Settings' }).click()
    await say(page, 'a table of customers')
    await finished(page, 2)
    t.equal(await answers(page).count(), 2)
    const tokens = page.getByRole('listbox').first().getByRole('option')
    t.ok((await tokens.count()) > 3)
    await tokens.first().focus()
    await page.keyboard.press('ArrowRight')
    t.equal(await page.getByRole('table').getByRole('row').count(), 6, 'a header and five alternatives')
    t.match(await page.getByRole('table').innerText(), /chosen/)
    const overflow = (await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')) as number
    t.ok(overflow <= 0, 'no sideways scroll')
    t.same(await findings(opened), [])
    if (process.env.SVC_SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SVC_SCREENSHOTS}/playground-${colorScheme}.png`, fullPage: true })
  })
}
