import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noBrowser, opened } from './browser.ts'
import { serveConfigured, unbuilt } from './dev-server.ts'

const FOLDER = join(import.meta.dirname, '../../../examples/language')
/** Declarations of programs that are served; the other examples run and end. */
const SERVED = /^(?:@query|@mutation|@server|@table|@scheduled|@mcp|http |component |routes )/m

const apps = readdirSync(FOLDER).filter(
  name => name.endsWith('.vox') && SERVED.test(readFileSync(join(FOLDER, name), 'utf8'))
)

t.test(
  'every example application answers / with a page without console errors',
  { skip: noBrowser() || unbuilt(), timeout: 240_000 },
  async t => {
    const folder = t.testdir({})
    cpSync(FOLDER, folder, { recursive: true })
    const select = (file: string): void =>
      writeFileSync(join(folder, 'svc.toml'), `[plugins.app-runtime]\nprogram = "${file}"\n`)
    select(apps[0] as string)
    const server = await serveConfigured(t, folder)
    for (const [at, file] of apps.entries()) {
      await t.test(file, async t => {
        // A running server takes over the changed configuration as its next generation.
        const from = at > 0 ? server.output.length : 0
        if (at > 0) select(file)
        await server.line(/"generation \d+"/, from)
        const { page, problems } = await opened(t)
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
