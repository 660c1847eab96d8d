import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'

const CHROMIUM = '/usr/bin/chromium'
const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking']

/** Returns the reason why no browser is available; false if one is, or if SVC_TEST_BROWSER requires one. */
export function noBrowser(): string | false {
  if (process.env.SVC_TEST_BROWSER === 'required' || existsSync(CHROMIUM)) return false
  return `${CHROMIUM} does not exist`
}

let browser: Promise<Browser> | undefined

/** Returns the browser that all tests of the process share. It is launched for the first one. */
async function launched(): Promise<Browser> {
  if (browser === undefined) {
    browser = chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
    t.teardown(async () => (await browser)?.close())
  }
  return browser
}

export interface Opened {
  readonly page: Page
  /** Errors of the console, uncaught errors, and responses with an error status. */
  readonly problems: string[]
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns the accessibility problems of a page: rule and elements. */
export async function inaccessible(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate('axe.run()')) as {
    readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  }
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** Opens a page in a new browser context. */
export async function opened(t: Test, options: BrowserContextOptions = {}): Promise<Opened> {
  const problems: string[] = []
  const context = await (await launched()).newContext(options)
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { page, problems }
}
