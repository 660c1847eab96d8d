import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { descendants, isAlive, missing, openPages, openWorld, until } from './world.ts'

const isLinux = process.platform === 'linux'
const skip = missing || (!isLinux && 'it looks at /proc')

t.test('a missing browser is reported with install commands', async t => {
  const path = process.env.PATH
  t.teardown(() => {
    process.env.PATH = path
  })
  process.env.PATH = t.testdir({})
  const { browser } = await openWorld(t)
  if (process.platform !== 'darwin') {
    await t.rejects(browser.open('about:blank'), { code: 'BRW_NOT_INSTALLED', hint: /apt install chromium/ })
  }
  const named = await openWorld(t, { executable: 'tools/no-browser' })
  await t.rejects(named.browser.open('about:blank'), {
    code: 'BRW_NOT_INSTALLED',
    message: /the browser .*tools\/no-browser does not exist$/,
    hint: /plugins\.browser\.executable/
  })
})

t.test('a browser that does not start is reported with its output', { skip: !isLinux && 'it is a script' }, async t => {
  const script = join(t.testdir({ broken: '#!/bin/sh\necho "error: no wheels" >&2\nexit 3\n' }), 'broken')
  chmodSync(script, 0o755)
  const { browser } = await openWorld(t, { executable: script })
  await t.rejects(browser.open('about:blank'), { code: 'BRW_NOT_STARTED', message: /broken: .*no wheels/ })
})

t.test('a window needs a desktop', { skip: missing || (process.env.DISPLAY ?? '') !== '' || !isLinux }, async t => {
  const { browser } = await openWorld(t)
  await t.rejects(browser.open('about:blank', { headless: false }), { code: 'BRW_NOT_STARTED', hint: /desktop/ })
})

t.test('no process starts before the first page, and none survives the plugin', { skip }, async t => {
  const { browser, close } = await openWorld(t)
  const before = new Set(descendants(process.pid))
  const started = (): number[] => descendants(process.pid).filter(pid => !before.has(pid))
  t.same(started(), [])
  await browser.open('about:blank')
  const pids = started()
  t.not(pids.length, 0)
  const waiting = browser.open('http://127.0.0.1:9/').catch((error: unknown) => error)
  await close()
  await waiting
  await until(() => !pids.some(isAlive))
})

t.test('pending calls fail when the plugin is disposed', { skip }, async t => {
  const { browser, close } = await openWorld(t, { timeout_ms: 600_000 })
  const page = await browser.open('about:blank')
  const waiting = browser.click(page, '#never').catch((error: unknown) => error)
  await close()
  t.match(await waiting, { code: 'BRW_CLOSED' })
})

t.test('pages of a dead browser are closed, and the next page starts a new one', { skip }, async t => {
  const { browser } = await openWorld(t)
  const before = new Set(descendants(process.pid))
  const page = await browser.open('about:blank')
  const waiting = browser.waitFor(page, '#never', 600_000).catch((error: unknown) => error)
  const [main] = descendants(process.pid).filter(pid => !before.has(pid))
  process.kill(main as number, 'SIGKILL')
  t.match(await waiting, { code: 'BRW_CLOSED' })
  await t.rejects(browser.text(page), { code: /BRW_(PAGE_UNKNOWN|CLOSED)/ })
  t.ok(await browser.open('about:blank'))
})

t.test('an idle page is closed, and then the browser', { skip }, async t => {
  const { pages } = openPages(t, { idle_ms: 1_000 })
  const before = new Set(descendants(process.pid))
  const page = await pages.open('about:blank')
  const pids = descendants(process.pid).filter(pid => !before.has(pid))
  await t.rejects(pages.waitFor(page, '#never', 2_500), { code: 'BRW_TIMEOUT' }, 'a page in use is not closed')
  t.equal(pages.size, 1)
  await until(() => pages.size === 0)
  await until(() => !pids.some(isAlive))
  t.ok(await pages.open('about:blank'), 'the browser starts again')
})

t.test('a killed process leaves no browser running', { skip, timeout: 120_000 }, async t => {
  const child = fork(join(import.meta.dirname, 'opening-child.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
  const pids = descendants(child.pid as number)
  t.not(pids.length, 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => !pids.some(isAlive))
})
