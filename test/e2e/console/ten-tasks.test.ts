import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { freePort } from '../../free-port.ts'
import { makeProject, type Served, serve } from '../served-project.ts'
import { callFrom, launch, noBrowser, openConsole } from './browser.ts'
import { officeProject } from './office-project.ts'

const FAILED_REQUEST = 'totals-of-teams'

/** Calls a mutation of the served program. Resolves to its status. */
async function post(appPort: number, name: string, input: object, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${appPort}/api/mutation/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input)
  })
  await response.text()
  return response.status
}

/** Leaves an approval, a doubt, a waiting workflow, a row and a failed request. */
async function seed(page: Page, appPort: number): Promise<void> {
  const call = async (operation: string, input: object): Promise<void> => {
    const { status, body } = await callFrom(page, operation, input)
    if (status !== 200) throw new Error(`${operation}: ${JSON.stringify(body)}`)
  }
  const submit = (description: string, more: object = {}) =>
    call('orchestrator.submitTask', { description, planning_mode: 'direct', ...more })
  await submit('Delete the old tables', { requires_approval: true })
  await submit('Measure the parser')
  await call('orchestrator.doubtTask', { task_id: 2, reason: 'the numbers differ from last week' })
  await post(appPort, 'claim', { person: 'Grace', amount: 20 })
  await post(appPort, 'claim', { person: 'Ada', amount: 900 })
  if ((await post(appPort, 'totals', {}, { 'x-request-id': FAILED_REQUEST })) !== 500) throw new Error('totals')
}

async function isServed(appPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${appPort}/openapi.json`)).ok
  } catch {
    return false
  }
}

function configuredPort({ folder }: Served): number {
  const [, port] = /program = "office.vox"\nport = (\d+)/.exec(readFileSync(join(folder, 'svc.toml'), 'utf8')) ?? []
  return Number(port)
}

t.test('ten tasks, from the start page and by what it names', { skip: noBrowser }, async t => {
  const appPort = await freePort()
  const server = await serve(t, makeProject(t, officeProject(appPort)))
  const { page, problems, open } = await openConsole(await launch(t), server)
  await seed(page, appPort)
  const menu = (name: string | RegExp) =>
    page.getByRole('navigation', { name: 'pages' }).getByRole('link', { name, exact: true })
  const main = page.getByRole('main')
  const dialog = page.getByRole('dialog')
  t.beforeEach(() => open('/'))

  await t.test('find why a plugin is waiting', async t => {
    await main.getByRole('link', { name: 'reports' }).click()
    await main.getByText('needs warehouse.stock@1').first().waitFor()
    // The reason leads to the plugin that is disabled, and its page to the remedy.
    await main.getByRole('link', { name: 'warehouse' }).click()
    await main.getByRole('button', { name: 'Enable' }).click()
    await dialog.getByText('add warehouse').waitFor()
    await dialog.getByText('add reports').waitFor()
    await dialog.getByRole('button', { name: 'Enable' }).click()
    await main.getByText('active', { exact: true }).waitFor()
    await menu('Overview').click()
    await main.getByRole('link', { name: 'reports' }).waitFor({ state: 'detached' })
    t.pass('the plugin that waited is active')
  })

  await t.test('change a port, see its effect before it counts, write it, roll it back', async t => {
    const newPort = await freePort()
    await menu('Configuration').click()
    await main.getByRole('searchbox', { name: 'Filter settings' }).fill('app-runtime.port')
    await main.getByRole('button', { name: 'Edit plugins.app-runtime.port' }).click()
    const input = main.getByRole('spinbutton', { name: 'Port' })
    await input.fill(String(newPort))
    await main.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByText(`+port = ${newPort}`).waitFor()
    await dialog.getByText('replace app-runtime').waitFor()
    t.equal(configuredPort(server), appPort, 'a preview changes nothing')
    await dialog.getByRole('button', { name: 'Write svc.toml' }).click()
    await page.getByText('svc.toml is written and in force').waitFor()
    t.equal(configuredPort(server), newPort)
    t.equal(await isServed(newPort), true, 'the app is served at the new port')
    await page.getByRole('tab', { name: 'History' }).click()
    await main.getByRole('button', { name: 'Restore' }).first().click()
    await dialog.getByText('replace app-runtime').waitFor()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('svc.toml is restored and in force').waitFor()
    t.equal(configuredPort(server), appPort)
    t.equal(await isServed(appPort), true, 'the app is served at the old port')
    t.equal(await isServed(newPort), false)
  })

  await t.test('find the request that failed and its SQL', async t => {
    await menu('Requests').click()
    await main.getByRole('combobox', { name: 'Result' }).selectOption('failed')
    // A click anywhere in the row opens the request.
    await main.getByText('/api/mutation/totals').click()
    await page.getByRole('heading', { name: FAILED_REQUEST }).waitFor()
    await main.getByRole('cell', { name: /^SELECT team, SUM\(amount\)/ }).waitFor()
    await main.getByRole('log').getByText('no such column: team').first().waitFor()
    t.pass('the page of the request has the statement and the reason')
  })

  await t.test('approve a task', async t => {
    await menu(/^Inbox/).click()
    await main.getByText('Delete the old tables').waitFor()
    await main.getByRole('button', { name: 'Approve' }).click()
    await main.getByText('Delete the old tables').waitFor({ state: 'detached' })
    t.match((await callFrom(page, 'orchestrator.tasks.record', { task_id: 1 })).body, { state: 'Queued' })
  })

  await t.test('answer a doubt', async t => {
    await menu(/^Inbox/).click()
    await main.getByText('the numbers differ from last week').waitFor()
    await main.getByRole('button', { name: 'Doubt is right' }).click()
    await main.getByText('the numbers differ from last week').waitFor({ state: 'detached' })
    t.match((await callFrom(page, 'orchestrator.tasks.record', { task_id: 2 })).body, { state: 'Queued' })
  })

  await t.test('compare two settings of a model', async t => {
    await menu('Playground').click()
    await main.getByRole('checkbox', { name: 'Compare' }).check()
    await main.getByRole('button', { name: 'Settings' }).click()
    await main.getByRole('textbox', { name: 'Temperature', exact: true }).fill('0')
    await main.getByRole('textbox', { name: 'Temperature of model 2' }).fill('1.5')
    await main.getByRole('textbox', { name: 'Message' }).fill('count the books')
    await page.keyboard.press('Enter')
    await main.getByRole('heading', { name: 'vox-tiny, temperature 0' }).waitFor()
    await main.getByRole('heading', { name: 'vox-tiny, temperature 1.5' }).waitFor()
    await main.getByText('db.Book.count()').first().waitFor()
    await main.getByRole('button', { name: 'Regenerate' }).nth(1).waitFor()
    t.pass('both answers are complete')
  })

  await t.test('signal a workflow', async t => {
    await menu(/^Inbox/).click()
    await main.getByText('approve waits for the signal approved').waitFor()
    await main.getByText('["Ada",900]').waitFor()
    await main.getByRole('button', { name: 'Send signal' }).click()
    // A text that is not JSON is not sent as a string.
    await dialog.getByRole('textbox', { name: 'Payload' }).fill('yes please')
    await dialog.getByRole('button', { name: 'Send signal' }).click()
    await dialog.getByText('not valid JSON').waitFor()
    await dialog.getByRole('textbox', { name: 'Payload' }).fill('')
    await dialog.getByRole('button', { name: 'Send signal' }).click()
    await main.getByText('approve waits for the signal approved').waitFor({ state: 'detached' })
    await menu('Workflows').click()
    await main.getByRole('row').filter({ hasText: 'completed' }).nth(1).waitFor()
    t.equal(await main.getByRole('row').filter({ hasText: 'waiting' }).count(), 0)
  })

  await t.test("edit a row of an app's table", async t => {
    await menu('Apps').click()
    await main.getByRole('link', { name: 'office' }).click()
    await main.getByRole('tab', { name: 'Tables' }).click()
    await main.getByRole('link', { name: 'Expense' }).click()
    const row = main.getByRole('row').filter({ hasText: 'Grace' })
    await row.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('amount').fill('25')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByRole('cell', { name: '25' }).waitFor()
    const { body } = await callFrom(page, 'app.table.rows', { app: 'office', table: 'Expense' })
    t.match(JSON.stringify(body), '"amount":25')
    // Enter in a text saves, and the page names the app once.
    await row.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('person').fill('Grace H.')
    await dialog.getByLabel('person').press('Enter')
    await row.getByRole('cell', { name: 'Grace H.' }).waitFor()
    t.equal(await page.getByText('App office').count(), 1)
  })

  await t.test('see which plugin burns CPU', async t => {
    await menu('Plugins').click()
    await main.getByRole('tab', { name: 'CPU' }).click()
    const plugins = main.getByRole('row').filter({ has: page.getByRole('link') })
    t.match(await plugins.first().innerText(), 'indexer')
    await plugins.first().click()
    await main.getByText('Indexes documents').waitFor()
    t.pass('the busiest plugin comes first, and its row opens its page')
  })

  await t.test('read a trace', async t => {
    await menu('Traces').click()
    await main.getByText('POST /api/mutation/claim').nth(1).waitFor()
    await post(appPort, 'claim', { person: 'Kurt', amount: 70 })
    // The console's own requests are not in the way, and the newest of the claims comes first.
    await main.getByText('POST /api/mutation/claim').nth(2).waitFor()
    await main.getByText('POST /api/mutation/claim').first().click()
    await main
      .getByText(/^mutation claim/)
      .first()
      .waitFor()
    t.equal(await main.getByText(/INSERT (OR IGNORE )?INTO workflow_run_log/).count(), 1, 'the SQL is shown once')
  })

  t.same(
    problems.filter(problem => !/status of (401|409)/.test(problem)),
    [],
    'no errors in the pages'
  )
})
