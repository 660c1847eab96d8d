import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { bearer, EventSource, openWorld, READ, toolsPlugin, WRITE } from './world.ts'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
const missing = existsSync(EXECUTABLE) ? false : `${EXECUTABLE} is not installed`
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const PATIENCE_MS = 30_000
/** The page opens without a token, which a browser cannot send. */
const OPEN = { mobile_auth: false }
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const STYLE = new URL('../page/page.css', import.meta.url)
const CONSOLE_STYLE = new URL('../../dashboard/page/src/page.css', import.meta.url)

let browser: Browser | undefined
t.teardown(() => browser?.close())

/** Opens the page on an emulated phone; returns it with its errors. */
async function openPage(t: Test, url: string, options = {}): Promise<{ page: Page; complaints: string[] }> {
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] })
  const context = await browser.newContext({ ...PHONE, ...options })
  t.teardown(() => context.close())
  context.setDefaultTimeout(PATIENCE_MS)
  await context.addInitScript(AXE)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    // The browser itself logs each response with status 401.
    if (message.type() === 'error' && !/401/.test(message.text())) complaints.push(message.text())
  })
  await page.goto(`${url}/v1/mobile`)
  return { page, complaints }
}

/** Returns by how many pixels the page is wider than the phone. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** Returns what axe finds wrong with the page. */
const problems = (page: Page): Promise<string[]> =>
  page.evaluate(`axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary)))`)

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Bearer token').fill(token)
  await page.getByRole('button', { name: 'Connect' }).click()
}

t.test('a phone signs in, finds a tool, calls it and sees events', { skip: missing }, async t => {
  const source = new EventSource()
  const world = await openWorld(t, OPEN, { plugins: [toolsPlugin(), source.plugin] })
  const { page, complaints } = await openPage(t, world.url)

  await signIn(page, 'wrong')
  await page.getByText('The token is wrong.').waitFor()
  await signIn(page, WRITE)
  await page.getByRole('button', { name: /svc_rebalance/ }).waitFor()
  t.equal(await page.getByRole('listitem').count(), 4)
  t.equal(await overflow(page), 0)

  await page.getByLabel('Filter tools').fill('level')
  await page.getByText('No tool.').waitFor()
  await page.getByLabel('Filter tools').fill('rebal')
  await page.getByRole('button', { name: /svc_rebalance/ }).click()
  await page.getByLabel('count').fill('7')
  await page.getByRole('button', { name: 'Call' }).click()
  await page.getByText('"did": "rebalance"').waitFor()
  await page.getByLabel('text').fill('big 3000')
  await page.getByRole('button', { name: 'Call' }).click()
  await page.getByText('xxxxxxxxxx').waitFor()
  t.equal(await overflow(page), 0, 'a long word is wrapped')
  await page.getByLabel('text').fill('fail')
  await page.getByRole('button', { name: 'Call' }).click()
  await page.getByText('not today').waitFor()
  t.equal(await page.locator('#result').getAttribute('class'), 'failed')

  await page.getByText('connected', { exact: true }).waitFor()
  source.emit(`<img src=x onerror="document.title='caught'"> ${'y'.repeat(400)}`)
  await page.getByText('Events 1').click()
  await page.getByText('task_submitted').waitFor()
  t.equal(await page.title(), 'svc tools', 'external content is shown as text')
  t.equal(await overflow(page), 0)

  t.same(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]'), [1, 0, ''])
  await page.reload()
  await page.getByRole('button', { name: /svc_rebalance/ }).waitFor()
  t.same(complaints, [], 'the page has no errors and no violations of its policy')
})

t.test('the read role sees only its tools, and a page of another origin sees nothing', { skip: missing }, async t => {
  const world = await openWorld(t, OPEN)
  const { page } = await openPage(t, world.url)
  await signIn(page, READ)
  await page.getByRole('button', { name: /svc_task_status/ }).waitFor()
  t.equal(await page.getByRole('listitem').count(), 2)
  const { page: stranger } = await openPage(t, world.url)
  await stranger.getByLabel('Bearer token').waitFor()
  t.equal(await stranger.getByRole('listitem').count(), 0, 'another tab has no token')
})

t.test('the page works without a token if none is required, and in the dark theme', { skip: missing }, async t => {
  const world = await openWorld(t, { allow_unauthenticated: true }, { tokens: false })
  const { page, complaints } = await openPage(t, world.url, { colorScheme: 'dark' })
  await page.getByRole('button', { name: /svc_cancel_task/ }).click()
  await page.getByRole('button', { name: 'Call' }).click()
  await page.getByText('"did": "cancel_task"').waitFor()
  t.equal(await overflow(page), 0)
  t.same(complaints, [])
})

t.test('a browser can install the page, and shows it offline', { skip: missing }, async t => {
  const world = await openWorld(t, OPEN)
  const { page, complaints } = await openPage(t, world.url)
  const session = await page.context().newCDPSession(page)
  const { url, errors, data } = await session.send('Page.getAppManifest')
  t.equal(url, `${world.url}/v1/mobile/manifest.webmanifest`)
  t.same(errors, [])
  t.match(JSON.parse(data ?? ''), { start_url: '/v1/mobile', display: 'standalone', icons: [{}] })
  const icon = await page.request.get(`${world.url}/v1/mobile/icon.svg`)
  t.match([icon.status(), icon.headers()['content-type']], [200, /svg/])

  await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
  await page.context().setOffline(true)
  await page.reload()
  await page.getByRole('heading', { name: 'svc tools' }).waitFor()
  t.same(
    complaints.filter(text => !/ERR_INTERNET_DISCONNECTED|Failed to fetch/.test(text)),
    []
  )
})

t.test('every view is accessible and fits, in both themes', { skip: missing }, async t => {
  const source = new EventSource()
  const world = await openWorld(t, OPEN, { plugins: [toolsPlugin(), source.plugin] })
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, complaints } = await openPage(t, world.url, { colorScheme })
    const look = async (view: string): Promise<void> => {
      t.same(await problems(page), [], `${view}, ${colorScheme}`)
      t.equal(await overflow(page), 0, `${view}, ${colorScheme}`)
      if (process.env.SHOTS !== undefined)
        await page.screenshot({ path: `${process.env.SHOTS}/mobile-${view}-${colorScheme}.png`, fullPage: true })
    }
    await page.getByLabel('Bearer token').waitFor()
    await look('sign-in')
    await signIn(page, 'wrong')
    await page.getByText('The token is wrong.').waitFor()
    await look('wrong token')
    await signIn(page, WRITE)
    await page.getByText('connected', { exact: true }).waitFor()
    source.emit('an event')
    await page.getByText('Events').click()
    await page.getByText('task_submitted').waitFor()
    await look('tools')
    await page.getByRole('button', { name: /svc_rebalance/ }).click()
    await look('tool')
    await page.getByLabel('text').fill('fail')
    await page.getByRole('button', { name: 'Call' }).click()
    await page.getByText('not today').waitFor()
    await look('failure')
    t.same(complaints, [], colorScheme)
  }
})

t.test('the page has the colours and fonts of the console', async t => {
  const tokens = (file: URL): string | undefined => /:root \{(.*?)\n\}/s.exec(readFileSync(file, 'utf8'))?.[1]
  t.match(tokens(STYLE), '--accent')
  t.equal(tokens(STYLE), tokens(CONSOLE_STYLE))
})

t.test('the page and its files require a token, unless the setting opens them', async t => {
  const files = ['/v1/mobile', '/v1/mobile/manifest.webmanifest', '/v1/mobile/icon.svg', '/v1/mobile/worker.js']
  const closed = await openWorld(t)
  const open = await openWorld(t, OPEN)
  for (const path of files) {
    const refused = await closed.get(path, {})
    t.equal(refused.status, 401, path)
    t.same(await refused.json(), { error: 'missing or invalid bearer token' })
    for (const token of [READ, WRITE]) t.equal((await closed.get(path, bearer(token))).status, 200, path)
    t.equal((await open.get(path, {})).status, 200, path)
  }
  t.equal((await open.get('/v1/mobile/status', {})).status, 401, 'its data requires one in any case')
})

t.test('the page is sent with its content security policy', async t => {
  const world = await openWorld(t, OPEN)
  const response = await world.get('/v1/mobile', {})
  const policy = response.headers.get('content-security-policy') ?? ''
  for (const part of ["default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"]) {
    t.match(policy, part)
  }
  t.notMatch(policy, /unsafe/)
  t.equal(response.headers.get('x-content-type-options'), 'nosniff')
  t.notMatch(await response.text(), /\/\*(?:style|script)\*\//)
})
