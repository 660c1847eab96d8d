import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { launched, noBrowser, opened } from './browser.ts'
import { serve, unbuilt } from './dev-server.ts'

const FOLDER = join(import.meta.dirname, '../../../examples/language')
/** Declarations of programs that are served; the other examples run and end. */
const SERVED = /^(?:@query|@mutation|@server|@table|@scheduled|@mcp|http |component |routes )/m

const apps = readdirSync(FOLDER).filter(
  name => name.endsWith('.vox') && SERVED.test(readFileSync(join(FOLDER, name), 'utf8'))
)

t.test(
  'every example application answers / with a page without console errors',
  { skip: noBrowser() || unbuilt(), timeout: 0 },
  async t => {
    const browser = await launched(t)
    const folder = t.testdir({})
    cpSync(FOLDER, folder, { recursive: true })
    for (const file of apps) {
      await t.test(file, async t => {
        const server = await serve(t, folder, { file })
        const { page, problems } = await opened(t, browser)
        const response = await page.goto(server.url)
        t.equal(response?.status(), 200)
        t.match(response?.headers()['content-type'], 'text/html')
        await page.waitForFunction('document.body.innerText.trim() !== ""')
        t.not(await page.title(), '')
        await page.waitForLoadState('networkidle')
        t.same(problems, [])
        t.equal(await page.locator('svc-overlay').count(), 0)
      })
    }
  }
)
