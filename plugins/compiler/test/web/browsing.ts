import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { HARNESS } from './harness.ts'

const CHROMIUM = '/usr/bin/chromium'
const ROUTES = 'routes.manifest.ts'
const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking']

/** Returns the reason why no browser is available; false if one is. */
export function noBrowser(): string | false {
  if (!HARNESS.opensPages) return 'SVC_GUI_PLAYWRIGHT is off'
  return existsSync(CHROMIUM) ? false : `${CHROMIUM} does not exist`
}

export async function launched(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
  t.teardown(() => browser.close())
  return browser
}

export interface BuiltApp {
  /** Folder with app.vox. */
  readonly project: string
  /** Output folder of svc build. */
  readonly web: string
}

/** Returns the application in SVC_PLAYWRIGHT_APP_DIR; null if the variable is not set. */
export function configuredApp(): BuiltApp | null {
  if (HARNESS.application === '') return null
  const folder = resolve(HARNESS.application)
  const web = existsSync(join(folder, ROUTES)) ? folder : join(folder, 'web')
  const project = dirname(web)
  for (const file of [join(web, ROUTES), join(project, 'app.vox')]) {
    if (!existsSync(file)) throw new Error(`SVC_PLAYWRIGHT_APP_DIR has no application: ${file} does not exist`)
  }
  return { project, web }
}

/** Returns the addresses of pages without required parameters. */
export function addressesOf({ web }: BuiltApp): string[] {
  const routes = readFileSync(join(web, ROUTES), 'utf8')
  const paths = [...routes.matchAll(/^ {4}path: '(\/[^':*]*)'/gm)].map(([, path = '']) => path)
  return [...new Set(paths)]
}

/** Stores a screenshot if SVC_PLAYWRIGHT_OUT_DIR is set. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (HARNESS.pictures === '') return
  mkdirSync(HARNESS.pictures, { recursive: true })
  await page.screenshot({ path: join(HARNESS.pictures, `${name}.png`) })
}

/** Opens a page and collects its browser errors. Records a trace if SVC_PLAYWRIGHT_OUT_DIR is set. */
export async function opened(t: Test, browser: Browser, name: string): Promise<{ page: Page; problems: string[] }> {
  const problems: string[] = []
  const context = await browser.newContext()
  if (HARNESS.pictures !== '') {
    await context.tracing.start({ screenshots: true, snapshots: true })
    t.teardown(() => context.tracing.stop({ path: join(HARNESS.pictures, `${name}.zip`) }))
  }
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { page, problems }
}
