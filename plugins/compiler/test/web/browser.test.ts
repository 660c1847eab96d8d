import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { runNew } from '#root'
import { addressesOf, configuredApp, launched, noBrowser, opened, takeScreenshot } from './browsing.ts'
import { build, install, ROOT, run } from './building.ts'
import { serve, unbuilt } from './serving.ts'

const exec = promisify(execFile)
const app = configuredApp()

t.test(
  'the pages of a new project are built, served and used',
  {
    skip: noBrowser() || unbuilt() || (app !== null && 'SVC_PLAYWRIGHT_APP_DIR names another project'),
    timeout: 240_000
  },
  async t => {
    const folder = join(t.testdir({}), 'tasks')
    await run(runNew(), { name: folder, template: 'web' })
    const web = join(folder, 'web')
    t.equal((await build(join(folder, 'app.vox'), web, { scaffold: true })).code, 0)
    install(web)
    await exec(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: web })
    t.ok(existsSync(join(folder, 'public/index.html')), 'Vite builds into the served folder')

    const url = await serve(t, folder, '/api/query/tasks')
    const browser = await launched(t)
    const { page, problems } = await opened(t, browser, 'new-project')

    await t.test('the counter page counts clicks', async t => {
      await page.goto(`${url}/counter`)
      t.equal(await page.textContent('p'), 'Count: 0')
      await page.click('text=Add one')
      await page.click('text=Add one')
      await page.waitForSelector('text=Count: 2')
      await page.click('text=Reset')
      await page.waitForSelector('text=Count: 0')
      await takeScreenshot(page, 'counter')
    })

    await t.test('a form calls a mutation, and the list shows the new row', async t => {
      await page.goto(`${url}/`)
      await page.waitForSelector('h1')
      t.equal(await page.isDisabled('text=Add'), true, 'the button is disabled without a title')
      for (const title of ['Water the plants', 'Say "hello" & <b>wave</b>']) {
        await page.fill('[aria-label="New task"]', title)
        await page.click('text=Add')
        await page.waitForSelector(`li >> text=${title.slice(0, 5)}`)
        t.equal(await page.inputValue('[aria-label="New task"]'), '')
      }
      await takeScreenshot(page, 'tasks')
      await page.reload()
      await page.waitForSelector('li')
      t.same(await page.locator('li').allInnerTexts(), ['Water the plantsDone', 'Say "hello" & <b>wave</b>Done'])
      await page.click('li:first-child >> text=Done')
      await page.waitForFunction('document.querySelectorAll("li").length === 1')
      t.match(await page.textContent('li'), 'hello')
    })

    await t.test('navigation changes the page, and an unknown path shows not_found', async t => {
      await page.click('text=Counter')
      await page.waitForSelector('text=Count: 0')
      await page.goto(`${url}/nowhere`)
      await page.waitForSelector('text=Page not found')
      t.equal(await page.evaluate('getComputedStyle(document.body).maxWidth'), '960px', 'styles are applied')
    })
    t.same(problems, [], 'the browser reports no errors')
  }
)

t.test(
  'the pages of an existing application open without errors',
  {
    skip: noBrowser() || unbuilt() || (app === null && 'SVC_PLAYWRIGHT_APP_DIR is not set'),
    timeout: 240_000
  },
  async t => {
    if (app === null) return
    if (!existsSync(join(app.project, 'public/index.html'))) {
      if (!existsSync(join(app.web, 'node_modules'))) install(app.web)
      await exec(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: app.web })
    }
    const url = await serve(t, app.project, '/openapi.json')
    const { page, problems } = await opened(t, await launched(t), 'application')
    const addresses = addressesOf(app)
    t.not(addresses.length, 0)
    for (const address of addresses) {
      await page.goto(url + address)
      await page.waitForFunction('document.body.innerText.trim() !== ""')
      await takeScreenshot(page, `page${address.replaceAll('/', '-')}`)
    }
    t.same(problems, [])
  }
)
