import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DashboardRole } from '@svc/contracts'
import { AddressFile, SignInCodes } from '@svc/plugin-dashboard/testing'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import tap, { type Test } from 'tap'
import type { Served } from '../served-project.ts'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
/** Host name of a stranger, which DNS points at the console. */
export const REBOUND_HOST = 'rebound.example'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  `--host-resolver-rules=MAP ${REBOUND_HOST} 127.0.0.1`
]
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Reason to skip tests that need a browser; false if it is installed, or if the environment requires it. */
export const noBrowser =
  existsSync(EXECUTABLE) || process.env.SVC_TEST_BROWSER === 'required' ? false : `${EXECUTABLE} is not installed`

let started: Promise<Browser> | undefined

/** Returns the browser of this process. Its contexts, which share nothing, are closed after the test. */
export async function launch(t: Test): Promise<Browser> {
  started ??= start()
  const browser = await started
  t.teardown(() => Promise.all(browser.contexts().map(context => context.close())))
  return browser
}

async function start(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: FLAGS })
  tap.teardown(() => browser.close())
  return browser
}

/** Returns an address that signs in one browser, as `svc dashboard` prints it, but without a process. */
export async function signInUrl(
  { folder, child }: Pick<Served, 'folder' | 'child'>,
  role: DashboardRole = 'owner'
): Promise<string> {
  const data = join(folder, '.vox', 'plugins', 'dashboard')
  const file = new AddressFile(data)
  let address = file.read()
  // It is written shortly after the server listens.
  while (address === null || address.pid !== child.pid) {
    await sleep(10)
    address = file.read()
  }
  return `${address.publicUrl ?? address.url}/#code=${new SignInCodes(data).create(role).code}`
}

/** Page that is signed in, with everything that it reported. */
export interface ConsolePage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors and warnings of the page and violations of its content security policy, since the last `take`. */
  readonly problems: string[]
  open(path: string): Promise<void>
}

/** Opens the console in a new browser context and signs in. */
export async function openConsole(
  browser: Browser,
  server: Served,
  { role = 'owner', ...options }: BrowserContextOptions & { readonly role?: DashboardRole } = {}
): Promise<ConsolePage> {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    viewport: { width: 1440, height: 900 },
    ...options
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', error => problems.push(error.stack ?? error.message))
  await page.goto(await signInUrl(server, role))
  await page.locator('nav[aria-label="pages"]').waitFor({ state: 'attached' })
  return {
    page,
    context,
    problems,
    async open(path) {
      await page.goto(server.url + path)
      await settled(page)
    }
  }
}

/** Calls an operation as the person who is signed in on a page. Returns the status and the parsed body. */
export function callFrom(page: Page, operation: string, input: object): Promise<{ status: number; body: any }> {
  return page.evaluate(`fetch('/ui/api/call/${operation}', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-token': localStorage.getItem('svc-token') },
    body: ${JSON.stringify(JSON.stringify(input))}
  }).then(async answer => ({ status: answer.status, body: await answer.json() }))`)
}

/** Waits until a page has loaded its data. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main.content').waitFor()
  // A predicate of waitForFunction is evaluated in the page, which its content security policy forbids.
  while (await page.evaluate('document.querySelector("main.content .skeleton") !== null')) await page.waitForTimeout(20)
}

/** Waits until the browser has drawn the last change of the page. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate('new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
}

/** Returns what axe finds wrong with the page, one line for each element. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${AXE};0`)
  const violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[] =
    // Of the rules that a page follows, axe then describes one element only.
    await page.evaluate("axe.run({ resultTypes: ['violations'] }).then(result => result.violations)")
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ html, failureSummary = '' }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`
    )
  )
}
