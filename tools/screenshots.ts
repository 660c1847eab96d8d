// Takes the pictures of the console in docs/screenshots, of a demo project, in both themes. Needs `npm run build` and
// Chromium (its path in CHROMIUM, else /usr/bin/chromium).
//
//   node --import tsx --conditions=svc-source tools/screenshots.ts [PAGE...]
//
// PAGE is the name of a picture without its theme, such as tasks; without it, all are taken, and the page that shows them
// is written.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type DemoServer, startDemo } from './screenshots/demo-server.ts'
import { type Seeded, seed } from './screenshots/seed.ts'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
const DOCS = join(import.meta.dirname, '..', 'docs')
const OUT = join(DOCS, 'screenshots')
const MAX_BYTES = 120_000
const THEMES = ['light', 'dark'] as const
/** Tried in order until the picture is small enough. */
const QUALITIES = [82, 70, 55]

interface Picture {
  readonly name: string
  readonly path: string
}

/** Picture that was taken, with the texts of its page. */
interface Taken {
  readonly name: string
  readonly title: string
  readonly summary: string
  readonly bytes: number
}

if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE}: not installed; set CHROMIUM to the path of Chromium`)
mkdirSync(OUT, { recursive: true })
const server = await startDemo()
const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] })
try {
  const wanted = new Set(process.argv.slice(2))
  let seeded: Seeded | undefined
  const taken = new Map<string, Taken>()
  for (const theme of THEMES) {
    const page = await signIn(browser, server, theme)
    seeded ??= await seed(page, server)
    // A fixed time a few minutes later, so that ages of rows are the same whenever the picture is taken.
    await page.clock.setFixedTime(server.now() + 60_000)
    const menu = await menuPictures(page)
    for (const picture of [...menu, ...detailPictures(menu, seeded)]) {
      if (wanted.size > 0 && !wanted.has(picture.name)) continue
      const result = await take(page, server, picture, theme)
      taken.set(picture.name, result)
      process.stdout.write(`${picture.name}.${theme}.webp: ${(result.bytes / 1000).toFixed(0)} kB\n`)
    }
    await page.context().close()
  }
  if (wanted.size === 0) writeFileSync(join(DOCS, 'console-pictures.md'), gallery([...taken.values()]))
} finally {
  await browser.close()
  await server.close()
}

async function signIn(browser: Browser, server: DemoServer, colorScheme: 'light' | 'dark'): Promise<Page> {
  const context = await browser.newContext({
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width: 1280, height: 800 },
    timezoneId: 'UTC',
    locale: 'en-GB'
  })
  const page = await context.newPage()
  await page.clock.setFixedTime(server.now())
  await page.goto(server.signIn())
  await page.locator('nav[aria-label="pages"]').waitFor()
  return page
}

/** Returns a picture for each page of the menu. */
async function menuPictures(page: Page): Promise<Picture[]> {
  const paths: string[] = await page.evaluate(
    `[...document.querySelectorAll('nav[aria-label="pages"] a')].map(link => link.getAttribute('href'))`
  )
  return [...new Set(paths)].map(path => ({
    name: path === '/' ? 'overview' : (path.split('/').at(-1) as string),
    // The page of the search is empty without words.
    path: path.endsWith('/results') ? `${path}?query=carrier` : path
  }))
}

/** Returns the pictures of single objects, whose pages are below those of the menu. */
function detailPictures(menu: readonly Picture[], { task, request }: Seeded): Picture[] {
  const below = (page: string, key: string): string => {
    const parent = menu.find(({ name }) => name === page)
    if (parent === undefined) throw new Error(`the menu has no page ${page}`)
    return `${parent.path}/${key}`
  }
  return [
    { name: 'task', path: below('tasks', String(task)) },
    { name: 'request', path: below('requests', request) },
    { name: 'plugin', path: below('plugins', 'reports') },
    { name: 'model', path: below('models', 'vox-tiny') },
    { name: 'app', path: below('apps', 'bookshop') },
    { name: 'operation', path: below('operations', 'orchestrator.submitTask') }
  ]
}

/** Writes the picture. Throws if it is too large. */
async function take(page: Page, server: DemoServer, { name, path }: Picture, theme: string): Promise<Taken> {
  await page.goto(server.url + path)
  await page.locator('main.content').waitFor()
  while ((await page.locator('main.content .skeleton').count()) > 0) await page.waitForTimeout(20)
  await page.evaluate(
    'document.fonts.ready.then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))'
  )
  if ((await page.title()).includes('Not found')) throw new Error(`${path}: no such page`)
  const cdp = await page.context().newCDPSession(page)
  let bytes: Buffer = Buffer.alloc(0)
  for (const quality of QUALITIES) {
    const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality })
    bytes = Buffer.from(data, 'base64')
    if (bytes.length <= MAX_BYTES) break
  }
  await cdp.detach()
  if (bytes.length > MAX_BYTES) throw new Error(`${name}.${theme}: ${bytes.length} bytes; the limit is ${MAX_BYTES}`)
  writeFileSync(join(OUT, `${name}.${theme}.webp`), bytes)
  const title = (await page.title()).replace(/^\(\d+\) /, '').replace(/ · svc$/, '')
  const summary: string = await page.evaluate(`document.querySelector('main.content p.dim.grow')?.textContent ?? ''`)
  return { name, title, summary, bytes: bytes.length }
}

/** Returns the document that shows all pictures. */
function gallery(taken: readonly Taken[]): string {
  const parts = taken.map(
    ({ name, title, summary }) => `## ${title}

${summary === '' ? '' : `${summary}.\n\n`}<picture>
  <source media="(prefers-color-scheme: dark)" srcset="screenshots/${name}.dark.webp">
  <img src="screenshots/${name}.light.webp" alt="The page ${title} of the console" width="1280" height="800" loading="lazy">
</picture>
`
  )
  return `# Pictures of the console

Taken by \`tools/screenshots.ts\` of a small bookshop: an app, three plugins, six tasks and a plan. [What you can do on which
page](console.md#where-to-find-it).

${parts.join('\n')}`
}
