import t from 'tap'
import { makeProject, pluginPackage, type Served, serve } from '../served-project.ts'
import { accessibilityProblems, drawn, launch, noBrowser, openConsole, settled } from './browser.ts'
import { HOSTILE, rowsPlugin } from './rows-plugin.ts'

const OWN_PAGES = [
  '/',
  '/ui/inbox',
  '/ui/plugins',
  '/ui/plugins?tab=graph',
  '/ui/plugins?tab=generations',
  '/ui/plugins?tab=conflicts',
  '/ui/plugins?tab=hooks',
  '/ui/plugins/http',
  '/ui/configuration',
  '/ui/configuration?tab=toml',
  '/ui/configuration?tab=history',
  '/ui/secrets',
  '/ui/operations',
  '/ui/operations/orchestrator.submitTask',
  '/ui/p/orchestrator-tools/submit',
  '/ui/p/planning/new',
  '/ui/p/rows/one/r5'
]

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 }
]
const THEMES = ['light', 'dark'] as const

let served: Promise<Served> | undefined

/** Returns the server of this file. One of its plugins, `zebra`, cannot be compiled. */
function startConsole(): Promise<Served> {
  served ??= serve(
    t,
    makeProject(t, {
      ...rowsPlugin,
      'plugins/zebra/package.json': pluginPackage('zebra'),
      'plugins/zebra/src/plugin.ts': 'export default definePlugin(',
      'svc.toml': 'kernel.plugin_directories = ["plugins"]\n'
    })
  )
  return served
}

t.test('every page works at both widths and in both themes', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const { page, problems, open } = await openConsole(await launch(t), server)
  const contributed: string[] = await page.evaluate(
    '[...document.querySelectorAll("nav[aria-label=pages] a")].map(each => each.getAttribute("href"))'
  )
  const paths = new Set([...OWN_PAGES, ...contributed.filter(path => path !== '/ui/p/rows/never')])
  t.ok(contributed.length > 15, `${contributed.length} pages in the menu`)
  for (const [at, path] of [...paths].entries()) {
    problems.length = 0
    await open(path)
    // The page of an operation that fails reports the status of its answer.
    const expected = path === '/ui/p/rows/broken' ? /status of 409/ : /^$/
    // Each page in both widths and both themes, and every other page in the other combination of them.
    for (const [size, viewport] of SIZES.entries()) {
      const colorScheme = THEMES[(at + size) % 2]!
      const name = `${path} ${colorScheme} ${viewport.width}`
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await drawn(page)
      t.same(await accessibilityProblems(page), [], `${name}: no accessibility problems`)
      const width = await page.evaluate('document.querySelector("main.content").scrollWidth')
      t.equal(width, await page.evaluate('document.querySelector("main.content").clientWidth'), `${name}: fits`)
    }
    t.same(
      problems.filter(problem => !expected.test(problem)),
      [],
      `${path}: no errors`
    )
    t.equal(await page.evaluate('window.hacked'), undefined)
    await page.setViewportSize(SIZES[0] as { width: number; height: number })
  }
})

t.test('states of a table', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const { page, context, open } = await openConsole(browser, server)

  await t.test('a table without rows says what would appear', async t => {
    await open('/ui/p/rows/none')
    t.match(await page.locator('main').innerText(), 'Rows appear here.')
  })

  await t.test('an error shows its message, code and request id', async t => {
    await open('/ui/p/rows/broken')
    const text = await page.getByRole('alert').innerText()
    t.match(text, 'the rows are broken')
    t.match(text, 'ROWS_BROKEN')
    t.match(text, /request \S+/)
  })

  await t.test('a table that waits for its operation says so', async t => {
    await page.goto(`${server.url}/ui/p/rows/never`)
    await page.getByText('Loading').waitFor({ state: 'attached' })
    t.pass('it shows that it loads')
  })

  await t.test('10,000 rows are drawn only where they are visible, and can be filtered and sorted', async t => {
    await open('/ui/p/rows/many')
    await page.getByText('10,000 rows').waitFor()
    const drawn: number = await page.locator('[role=row]').count()
    t.ok(drawn < 100, `${drawn} rows in the document`)
    await page.getByLabel('Name', { exact: true }).fill('row 99')
    await page.getByText('111 of 10,000 rows').waitFor()
    t.match(page.url(), 'name=row+99')
    await page.getByRole('button', { name: 'Value' }).click()
    await page.getByRole('button', { name: 'Value' }).click()
    await page.getByRole('cell', { name: 'row 9999' }).waitFor()
    t.match(await page.locator('[role=row]').nth(1).innerText(), 'row 9999')
  })

  await t.test('a change reaches the open table without a reload', async t => {
    await open('/ui/p/rows/many')
    await page.getByText('10,000 rows').waitFor()
    await page.evaluate(`fetch('/ui/api/call/rows.change', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-token': localStorage.getItem('svc-token') },
      body: JSON.stringify({ count: 3, name: 'changed' })
    })`)
    await page.getByRole('cell', { name: 'changed' }).first().waitFor()
    t.equal(await page.getByRole('cell', { name: 'changed' }).count(), 3)
  })

  await t.test('a destructive action asks for the name of its operation', async t => {
    await open('/ui/p/rows/many?name=row+17')
    const row = page.locator('[role=row]').filter({ hasText: 'r17' }).first()
    await row.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Delete: r17?' }).waitFor()
    await dialog.getByText('Delete a row. This calls rows.wipe with id = "r17".').waitFor()
    t.equal(await dialog.getByRole('button', { name: 'Delete' }).isDisabled(), true)
    await dialog.getByRole('textbox').fill('rows.wipe')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('9,999').waitFor()
    t.pass('the row is gone')
  })

  await t.test('a log shows every line of a delta operation, and a filter with a default can be cleared', async t => {
    await open('/ui/p/rows/lines')
    const lines = page.getByRole('log').locator(':scope > div')
    await page.getByText('row 9999').waitFor()
    t.equal(await lines.count(), 111)
    await page.getByLabel('Name', { exact: true }).fill('')
    await page.getByText('row 9000', { exact: false }).first().waitFor()
    t.ok((await lines.count()) > 1_000)
  })

  await t.test(
    'a line links to its record, whose name is the title below its list, without its empty fields',
    async t => {
      await open('/ui/p/rows/lines')
      await page.getByRole('link', { name: 'r9999' }).click()
      await page.getByRole('heading', { level: 1, name: 'row 9999' }).waitFor()
      t.equal(await page.locator('main dt').count(), 2)
      await page.getByRole('button', { name: 'Show 1 empty field' }).click()
      t.equal(await page.locator('main dt').count(), 3)
    }
  )

  await t.test('a page that another one offers is a button there, and leads back', async t => {
    await open('/ui/p/rows/many')
    t.equal(await page.locator('nav[aria-label=pages]').getByText('Change rows').count(), 0)
    await page.locator('main').getByRole('link', { name: 'Change rows' }).click()
    await page.waitForURL('**/rows/change')
    await page.getByRole('heading', { level: 1 }).getByRole('link', { name: 'Many' }).click()
    await page.waitForURL('**/rows/many')
    t.pass('the title links to the list')
  })

  await t.test('a table is sorted with a menu where its rows are cards', async t => {
    await open('/ui/p/rows/many?name=row+12')
    t.equal(await page.getByLabel('Sort by').isVisible(), false)
    await page.setViewportSize(SIZES[1] as { width: number; height: number })
    await page.getByLabel('Sort by').selectOption({ label: 'Sort by: Value' })
    await page.getByRole('button', { name: 'Sort in descending order' }).click()
    await page.getByRole('cell', { name: 'row 1299' }).waitFor()
    t.match(await page.locator('[role=row][data-index="0"]').innerText(), 'row 1299')
    await page.setViewportSize(SIZES[0] as { width: number; height: number })
  })

  await t.test('plugins with a problem come first', async t => {
    await open('/ui/plugins')
    const states = await page.locator('[role=row][data-index] [role=cell]:nth-child(2)').allInnerTexts()
    t.equal(states[0]?.trim().endsWith('invalid'), true, states.join(', '))
  })

  await t.test('a page that cannot reach svc does not say that it is live', async t => {
    await open('/ui/p/rows/none')
    const state = page.locator('header').getByRole('status')
    await state.getByText('live').waitFor()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('The connection to svc is lost.').waitFor()
    t.match(await state.innerText(), 'reconnecting')
    await context.setOffline(false)
    await state.getByText('live').waitFor()
  })

  await t.test('texts of plugins stay text', async t => {
    for (const path of ['/', '/ui/inbox', '/ui/p/rows/hostile', '/ui/plugins/rows', '/ui/operations/rows.hostile']) {
      await open(path)
      t.equal(await page.evaluate('window.hacked'), undefined, path)
      t.equal(await page.locator('main img, main script').count(), 0, path)
      t.equal(await page.locator('main a[href^="javascript:"]').count(), 0, path)
    }
    await open('/ui/p/rows/hostile')
    t.match(await page.locator('main').innerText(), HOSTILE.slice(0, 40))
  })
})

t.test('the main tasks work with only the keyboard', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const { page, open } = await openConsole(await launch(t), server)
  const { keyboard } = page

  await open('/')
  await keyboard.press('Control+k')
  await keyboard.type('plugins')
  await keyboard.press('Enter')
  await page.waitForURL('**/ui/plugins')
  await settled(page)
  await keyboard.press('j')
  await keyboard.press('j')
  await keyboard.press('Enter')
  await page.waitForURL('**/ui/plugins/*')
  t.pass('search opens a page; j and Enter open a row')

  await open('/ui/p/rows/many')
  await keyboard.press('/')
  await keyboard.type('row 42')
  await page.getByText(/ of [\d,]+ rows/).waitFor()
  t.match(page.url(), 'name=row+42')

  await open('/ui/operations/rows.change')
  await page.getByLabel('Count').focus()
  await keyboard.type('2')
  await keyboard.press('Enter')
  await page.getByText('"changed": 2').waitFor()
  t.pass('a form is sent with Enter')

  await open('/ui/plugins')
  await page.getByRole('tab', { name: 'Plugins' }).focus()
  await keyboard.press('ArrowRight')
  await page.waitForURL('**tab=graph')
  await keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await keyboard.press('Escape')
  t.equal(await page.getByRole('dialog').count(), 0)
})
