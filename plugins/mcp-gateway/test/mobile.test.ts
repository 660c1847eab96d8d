import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { EventSource, openWorld, READ, toolsPlugin, WRITE } from './world.ts'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
const missing = existsSync(EXECUTABLE) ? false : `${EXECUTABLE} is not installed`
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const PATIENCE_MS = 30_000

let browser: Browser | undefined
t.teardown(() => browser?.close())

/** Opens the page on an emulated phone; returns it with its errors. */
async function openPage(t: Test, url: string, options = {}): Promise<{ page: Page; complaints: string[] }> {
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] })
  const context = await browser.newContext({ ...PHONE, ...options })
  t.teardown(() => context.close())
  context.setDefaultTimeout(PATIENCE_MS)
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

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Bearer token').fill(token)
  await page.getByRole('button', { name: 'Connect' }).click()
}

t.test('a phone signs in, finds a tool, calls it and sees events', { skip: missing }, async t => {
  const source = new EventSource()
  const world = await openWorld(t, {}, { plugins: [toolsPlugin(), source.plugin] })
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
  const world = await openWorld(t)
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
  const world = await openWorld(t)
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

t.test('the page is sent with its content security policy', async t => {
  const world = await openWorld(t)
  const response = await world.get('/v1/mobile', {})
  const policy = response.headers.get('content-security-policy') ?? ''
  for (const part of ["default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"]) {
    t.match(policy, part)
  }
  t.notMatch(policy, /unsafe/)
  t.equal(response.headers.get('x-content-type-options'), 'nosniff')
  t.notMatch(await response.text(), /\/\*(?:style|script)\*\//)
})
