import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { runSvc } from '../run-svc.ts'
import { makeProject, type Served, serve } from '../served-project.ts'
import { accessibilityProblems, callFrom, launch, noBrowser, openConsole, settled, signInUrl } from './browser.ts'
import { rowsPlugin } from './rows-plugin.ts'

const SETTINGS = 'kernel.plugin_directories = ["plugins"]\n[plugins.model-server]\nenabled = false\n'
/** Selects the plugins of a console with rows. */
const ONLY = ['--only', 'http,dashboard,cli,daemon,rows']
const SIGN_IN = 'Sign in to the svc console'

let served: Promise<Served> | undefined

/** Returns the server of this file. */
function startConsole(): Promise<Served> {
  served ??= serve(t, makeProject(t, { ...rowsPlugin, 'svc.toml': SETTINGS }), ONLY)
  return served
}

async function isSignedOut(page: Page): Promise<boolean> {
  await page.getByRole('heading', { name: SIGN_IN }).waitFor()
  return page.evaluate(`fetch('/ui/api/session', {
    headers: { 'x-svc-token': localStorage.getItem('svc-token') ?? '' }
  }).then(answer => answer.status === 401)`)
}

function sessionIdOf(page: Page): Promise<string> {
  return page.evaluate(`fetch('/ui/api/session', {
    headers: { 'x-svc-token': localStorage.getItem('svc-token') }
  }).then(async answer => (await answer.json()).session.id)`)
}

t.test('the page to sign in', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)

  await t.test('has no error and no accessibility problem', async t => {
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 390]
    ] as const) {
      const { context, page, problems } = await openConsole(browser, server, {
        colorScheme,
        viewport: { width, height: 844 }
      })
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: SIGN_IN }).waitFor()
      t.same(await accessibilityProblems(page), [], `${colorScheme} ${width}`)
      t.same(problems, [], `${colorScheme} ${width}`)
      if (process.env.SHOTS !== undefined)
        await page.screenshot({ path: `${process.env.SHOTS}/sign-in-${colorScheme}-${width}.png` })
      await context.close()
    }
  })

  await t.test('takes a pasted address, without a mouse', async t => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${server.url}/ui/plugins`)
    await page.getByLabel('Code or address').focus()
    await page.keyboard.type(await signInUrl(server))
    await page.keyboard.press('Enter')
    await settled(page)
    t.match(page.url(), /\/ui\/plugins$/, 'it leads to the requested page')
    await page.context().close()
  })

  await t.test('takes an address that is pasted over the one of the open page', async t => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${server.url}/`)
    await page.getByRole('heading', { name: SIGN_IN }).waitFor()
    await page.goto(await signInUrl(server))
    await settled(page)
    t.equal(page.url(), `${server.url}/`)
    await page.context().close()
  })

  await t.test('says why a code does not work, and what to do', async t => {
    const used = await signInUrl(server)
    const first = await (await browser.newContext()).newPage()
    await first.goto(used)
    await settled(first)
    const late = await signInUrl(server)
    const [id] = new URL(late).hash.replace('#code=', '').split('.')
    const file = join(server.folder, '.vox', 'plugins', 'dashboard', 'codes', `${id}.json`)
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), expires: Date.now() - 1_000 }))
    for (const [name, url] of Object.entries({ 'used before': used, late, wrong: `${server.url}/#code=x.y` })) {
      const page = await (await browser.newContext()).newPage()
      await page.goto(url)
      const alert = page.getByRole('alert')
      await alert.waitFor()
      t.match(await alert.innerText(), /the sign-in code is wrong, was used before, or is older than 60 seconds/, name)
      t.match(await alert.innerText(), 'run svc dashboard again', name)
      t.ok(await isSignedOut(page), name)
      await page.context().close()
    }
    t.equal(await first.getByRole('heading', { name: SIGN_IN }).count(), 0, 'the first browser stays signed in')
  })
})

t.test('what a role sees and may do', { skip: noBrowser }, async t => {
  const expected = {
    viewer: { 'rows.feed': 200, 'rows.change': 403, 'rows.wipe': 403, 'kernel.secrets.doctor': 403 },
    operator: { 'rows.feed': 200, 'rows.change': 200, 'rows.wipe': 403, 'kernel.secrets.doctor': 403 },
    owner: { 'rows.feed': 200, 'rows.change': 200, 'rows.wipe': 428, 'kernel.secrets.doctor': 200 }
  }
  const browser = await launch(t)
  for (const readOnly of [false, true])
    await t.test(readOnly ? 'in a read-only console' : 'in the console', async t => {
      const settings = `${SETTINGS}[plugins.dashboard]\nread_only = true\n`
      const server = readOnly
        ? await serve(t, makeProject(t, { ...rowsPlugin, 'svc.toml': settings }), ONLY)
        : await startConsole()
      for (const role of ['viewer', 'operator', 'owner'] as const) {
        const statuses: Readonly<Record<string, number>> = expected[role]
        const { context, page, open } = await openConsole(browser, server, { role })
        for (const [operation, status] of Object.entries(statuses)) {
          const isRead = operation === 'rows.feed' || operation === 'kernel.secrets.doctor'
          const answer = await callFrom(page, operation, operation === 'rows.wipe' ? { id: 'r1' } : {})
          t.equal(answer.status, readOnly && !isRead ? 403 : status, `${role} ${operation}`)
          if (answer.status === 403)
            t.match(answer.body.error.code, readOnly && !isRead ? 'DSH_READ_ONLY' : 'DSH_ROLE_FORBIDDEN')
        }
        await open('/ui/operations/rows.change')
        const mayWrite = !readOnly && role !== 'viewer'
        t.equal(await page.locator('button[type=submit]').isEnabled(), mayWrite, `${role}: the form to change rows`)
        if (!mayWrite) t.match(await page.locator('main').innerText(), readOnly ? 'read-only' : `The role ${role}`)
        await open('/ui/p/rows/many?name=row+17')
        await page.getByText('of 10,000 rows').waitFor()
        const buttons = await page.getByRole('button', { name: 'Delete' }).count()
        t.equal(buttons > 0, !readOnly && role === 'owner', `${role}: the button that deletes a row`)
        await open('/ui/secrets')
        t.equal(await page.getByRole('region', { name: 'Sessions' }).count(), role === 'owner' ? 1 : 0, role)
        const header = await page.locator('header.top').innerText()
        t.equal(header.includes('read-only'), readOnly)
        t.equal(header.includes(role), role !== 'owner', 'a role with fewer rights is shown')
        await context.close()
      }
    })
})

t.test('a session ends in every open tab', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const owner = await openConsole(browser, server)

  await t.test('when svc dashboard sessions ends it', async t => {
    const viewer = await openConsole(browser, server, { role: 'viewer' })
    await viewer.open('/ui/p/rows/many')
    const id = await sessionIdOf(viewer.page)
    const { code, stderr } = await runSvc(server.folder, ['dashboard', 'sessions', '--revoke', id])
    t.equal(code, 0, stderr)
    t.ok(await isSignedOut(viewer.page), 'the open page asks to sign in')
    t.equal(await owner.page.getByRole('heading', { name: SIGN_IN }).count(), 0, 'the other browser stays signed in')
    await viewer.page.goto(await signInUrl(server))
    await settled(viewer.page)
    await viewer.context.close()
  })

  await t.test('when an owner ends it on the page Secrets', async t => {
    const other = await openConsole(browser, server, { role: 'operator' })
    const id = await sessionIdOf(other.page)
    await owner.open('/ui/secrets')
    const row = owner.page.getByRole('region', { name: 'Sessions' }).locator('.row').filter({ hasText: id })
    await row.getByRole('button').click()
    t.ok(await isSignedOut(other.page))
    await row.waitFor({ state: 'detached' })
    t.pass('it left the list')
    await other.context.close()
  })

  await t.test('when the person signs out in another tab', async t => {
    const second = await owner.context.newPage()
    await second.goto(`${server.url}/ui/plugins`)
    await settled(second)
    await owner.page.getByRole('button', { name: 'Sign out' }).click()
    t.ok(await isSignedOut(owner.page))
    t.ok(await isSignedOut(second))
    t.equal(await second.evaluate('localStorage.length'), 0, 'no half of it is left in the browser')
    t.same(await owner.context.cookies(`${server.url}/ui/`), [])
  })
})

t.test('a restart of svc keeps the session, and the open page goes on', { skip: noBrowser }, async t => {
  const folder = makeProject(t, { ...rowsPlugin, 'svc.toml': SETTINGS })
  const server = await serve(t, folder, ONLY)
  const { page, open } = await openConsole(await launch(t), server)
  await open('/ui/p/rows/many')
  await page.getByText('10,000 rows').waitFor()
  const id = await sessionIdOf(page)
  await callFrom(page, 'rows.change', { count: 2, name: 'before' })
  await page.getByRole('cell', { name: 'before' }).first().waitFor()
  await page.evaluate('window.tab = "the same document"')

  await server.stop()
  await page.getByText('The connection to svc is lost.').waitFor()
  const again = await serve(t, folder, [...ONLY, '--set', `plugins.http.port=${new URL(server.url).port}`])
  t.equal(again.url, server.url)
  await page.getByText('The connection to svc is lost.').waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'before' }).first().waitFor({ state: 'detached' })
  await page.getByText('10,000 rows').waitFor()
  t.pass('it shows the rows of the new process')
  t.equal(await sessionIdOf(page), id, 'the session is the same')
  t.equal(await page.evaluate('window.tab'), 'the same document', 'and the page was not loaded again')
})
