import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import t from 'tap'
import { runNew } from '../../src/new-command.ts'
import { build, install, ROOT, run } from './building.ts'
import { serve, unbuilt } from './serving.ts'

const CHROMIUM = '/usr/bin/chromium'
const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking']
const exec = promisify(execFile)

/** Why there is nothing to open pages with; false where there is. */
function missing(): string | false {
  if (['0', 'false', 'no', 'off'].includes(process.env.SVC_GUI_PLAYWRIGHT ?? '')) return 'SVC_GUI_PLAYWRIGHT is off'
  if (!existsSync(CHROMIUM)) return `there is no ${CHROMIUM}`
  return unbuilt()
}

t.test(
  'what a new project has for a browser is built, served and used',
  { skip: missing(), timeout: 240_000 },
  async t => {
    const folder = join(t.testdir({}), 'tasks')
    await run(runNew(), { name: folder, template: 'web' })
    const web = join(folder, 'web')
    t.equal((await build(join(folder, 'app.vox'), web, { scaffold: true })).code, 0)
    install(web)
    await exec(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: web })
    t.ok(existsSync(join(folder, 'public/index.html')), 'Vite builds into the folder that is served')

    const url = await serve(t, folder, '/api/query/tasks')
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
    t.teardown(() => browser.close())
    const { page, problems } = await open(browser)

    await t.test('a counter counts', async t => {
      await page.goto(`${url}/counter`)
      t.equal(await page.textContent('p'), 'Count: 0')
      await page.click('text=One more')
      await page.click('text=One more')
      await page.waitForSelector('text=Count: 2')
      await page.click('text=Back to nothing')
      await page.waitForSelector('text=Count: 0')
      await photograph(page, 'counter')
    })

    await t.test('a form calls a mutation, and the list shows the new row', async t => {
      await page.goto(`${url}/`)
      await page.waitForSelector('h1')
      t.equal(await page.isDisabled('text=Add'), true, 'there is nothing to add yet')
      for (const title of ['Water the plants', 'Say "hello" & <b>wave</b>']) {
        await page.fill('[aria-label="New task"]', title)
        await page.click('text=Add')
        await page.waitForSelector(`li >> text=${title.slice(0, 5)}`)
        t.equal(await page.inputValue('[aria-label="New task"]'), '')
      }
      await photograph(page, 'tasks')
      await page.reload()
      await page.waitForSelector('li')
      t.same(await page.locator('li').allInnerTexts(), ['Water the plantsDone', 'Say "hello" & <b>wave</b>Done'])
      await page.click('li:first-child >> text=Done')
      await page.waitForFunction('document.querySelectorAll("li").length === 1')
      t.match(await page.textContent('li'), 'hello')
    })

    await t.test('pages follow the address, and one that is not there is told', async t => {
      await page.click('text=To the counter')
      await page.waitForSelector('text=Count: 0')
      await page.goto(`${url}/nowhere`)
      await page.waitForSelector('text=There is no such page.')
      t.equal(await page.evaluate('getComputedStyle(document.body).maxWidth'), '960px', 'styles are there')
    })
    t.same(problems, [], 'the browser complains about nothing')
  }
)

async function open(browser: Browser): Promise<{ page: Page; problems: string[] }> {
  const problems: string[] = []
  const page = await browser.newPage()
  page.setDefaultTimeout(20_000)
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { page, problems }
}

/** Keeps a picture where one is asked for. */
async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.SVC_PLAYWRIGHT_OUT_DIR ?? ''
  if (folder === '') return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
