import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { runSvc } from '../run-svc.ts'
import { makeProject, type Served, serve } from '../served-project.ts'
import { accessibilityProblems, callFrom, launch, noBrowser, openConsole, REBOUND_HOST } from './browser.ts'

const APP = `@table
type Note { title: str }

@query
fn notes() to List[Note] { db.Note.all().live("notes") }

@mutation
fn add(title: str) to Result[int] {
    std.log.info("adding a note", { length: title.len() })
    Ok(db.Note.insert({ title: title }))
}
`
const SETTINGS = `[plugins.app-runtime]
program = "app.vox"
port = 0
dev = true
`
const PLUGINS = 'app-runtime,compiler,database,http,web,mcp,dashboard,observability,cli,daemon'

let served: Promise<{ server: Served; app: string }> | undefined

function start(): Promise<{ server: Served; app: string }> {
  served ??= serve(t, makeProject(t, { 'svc.toml': SETTINGS, 'app.vox': APP }), ['--only', PLUGINS]).then(
    async server => {
      const line = await server.line(/app listens on (http:\/\/[^\s"]+)/)
      return { server, app: /app listens on (http:\/\/[^\s"]+)/.exec(line)![1]! }
    }
  )
  return served
}

t.setTimeout(300_000)

t.test('the playground checks and runs a program', { skip: noBrowser }, async t => {
  const { server } = await start()
  const { page, open, problems } = await openConsole(await launch(t), server, { role: 'operator' })
  await open('/ui/p/app-runtime/apps')
  await page
    .getByRole('link', { name: 'Program playground' })
    .or(page.getByRole('button', { name: 'Program playground' }))
    .click()
  const program = page.getByRole('textbox', { name: 'Program' })
  const run = page.getByRole('button', { name: 'Run', exact: true })
  const outcome = page.getByRole('region', { name: 'Run' })

  await t.test('the example runs, and its output and rows are shown', async t => {
    await page.getByText('0 errors, 0 warnings').waitFor()
    await run.click()
    await outcome.getByText('open notes: 2').waitFor()
    await outcome.getByRole('heading', { name: 'Note: 2 rows' }).waitFor()
    t.equal(await outcome.getByRole('cell', { name: 'call home' }).count(), 1)
    t.same(await accessibilityProblems(page), [])
  })

  await t.test('errors appear while typing, with their places', async t => {
    await program.fill('fn main() {\n    let x: int = "a"\n}\n')
    const findings = page.getByRole('region', { name: 'Diagnostics' })
    await findings.getByText('typecheck.let_mismatch').waitFor()
    await findings.getByText('expected: int, found: str').waitFor()
    await findings.getByRole('button', { name: /^2:/ }).click()
    const selected = await program.evaluate((element: any) =>
      element.value.slice(element.selectionStart, element.selectionEnd)
    )
    t.equal(selected, '"a"')
    t.same(await accessibilityProblems(page), [])
    await run.click()
    await outcome.getByRole('alert').getByText('typecheck.let_mismatch', { exact: false }).first().waitFor()
  })

  await t.test('Ctrl Enter runs, and Stop ends an endless loop', async t => {
    await program.fill('loop { std.time.now_ms() }')
    await program.press('Control+Enter')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped.').waitFor()
    await program.fill('print("<img src=x onerror=window.hacked=1>")\nfn main_() to int { 1 }')
    await program.press('Control+Enter')
    await outcome.getByText('<img src=x').waitFor()
    t.equal(await page.evaluate('window.hacked'), undefined, 'output stays text')
  })

  await t.test('the text survives leaving the page', async t => {
    await program.fill('print(41 + 1)')
    await page.getByRole('link', { name: 'Apps' }).first().click()
    await page.goBack()
    t.equal(await program.inputValue(), 'print(41 + 1)')
  })
  t.same(problems, [])
})

t.test('only an operator and an owner may run programs', { skip: noBrowser }, async t => {
  const { server } = await start()
  const browser = await launch(t)
  const input = { source: 'print(1)' }
  const viewer = await openConsole(browser, server, { role: 'viewer' })
  t.match(await callFrom(viewer.page, 'app.playground', input), {
    status: 403,
    body: { error: { code: 'DSH_ROLE_FORBIDDEN' } }
  })
  const operator = await openConsole(browser, server, { role: 'operator' })
  t.match(await callFrom(operator.page, 'app.playground', input), { status: 200, body: { ok: true } })
})

t.test(
  'another web page cannot run programs, also with a signed-in browser and a rebound name',
  { skip: noBrowser },
  async t => {
    const { server } = await start()
    const browser = await launch(t)
    const { context, page } = await openConsole(browser, server)
    const token = await page.evaluate(`localStorage.getItem('svc-token')`)
    const stranger = createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><title>stranger</title>')
    })
    await new Promise<void>(resolve => stranger.listen(0, resolve))
    t.teardown(() => stranger.close())
    const { port } = stranger.address() as AddressInfo
    const other = await context.newPage()
    const { port: own } = new URL(server.url)
    const from = server.lines.length
    for (const origin of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://${REBOUND_HOST}:${port}/`
    ]) {
      await other.goto(origin)
      for (const target of [server.url, `http://${REBOUND_HOST}:${own}`]) {
        for (const [mode, headers] of [
          ['no-cors', { 'content-type': 'text/plain' }],
          ['cors', { 'content-type': 'application/json' }],
          ['cors', { 'content-type': 'application/json', 'x-svc-token': token }]
        ]) {
          const outcome = await other.evaluate(`fetch(${JSON.stringify(`${target}/ui/api/call/app.playground`)}, {
          method: 'POST', mode: ${JSON.stringify(mode)}, credentials: 'include', headers: ${JSON.stringify(headers)},
          body: JSON.stringify({ source: 'print("stolen")' })
        }).then(answer => answer.text(), () => 'refused')`)
          t.notMatch(outcome, /stolen|"ok"/, `${origin} to ${target}, ${mode}`)
        }
      }
    }
    t.notOk(
      server.lines.slice(from).some(line => /app\.playground was called/.test(line)),
      'no call reached the operation'
    )
    const answer = await fetch(`${server.url}/api/app.playground`, { method: 'POST', body: '{"source":""}' })
    t.equal(answer.status, 404, 'there is no other route')
  }
)

t.test('the Apps page shows requests, SQL, live updates and log lines as they happen', { skip: noBrowser }, async t => {
  const { server, app } = await start()
  const { page, open, problems } = await openConsole(await launch(t), server)
  await open('/ui/p/app-runtime/apps/app?tab=3')
  await page.getByText('No activity yet').waitFor()
  const streaming = new AbortController()
  const stream = await fetch(`${app}/api/live/query/notes`, { signal: streaming.signal })
  t.equal(stream.status, 200)
  const headers = { 'content-type': 'application/json' }
  const added = await fetch(`${app}/api/mutation/add`, { method: 'POST', headers, body: '{"title":"secret text"}' })
  t.equal(added.status, 200)
  const id = added.headers.get('x-request-id')!
  const table = page.getByRole('table')
  await table.getByText('POST /api/mutation/add').waitFor()
  await table.getByText('INSERT INTO "note" ("title") VALUES (?)').waitFor()
  await table.getByText('adding a note').waitFor()
  await table.getByText('live').first().waitFor()
  t.ok((await table.getByText(id).count()) >= 3, 'the request, its SQL and its log line have one id')
  t.same(await accessibilityProblems(page), [])
  t.notMatch(await page.content(), /secret text/, 'bound values are not shown')
  t.notOk(server.lines.some(line => line.includes('secret text')))
  await page.getByLabel('Event').selectOption('sql')
  await table.getByText('POST /api/mutation/add').waitFor({ state: 'detached' })
  streaming.abort()
  t.same(problems, [])
})

t.test('svc app activity shows the same, with the numbers of values, rows and changed rows', async t => {
  const { server, app } = await start()
  const headers = { 'content-type': 'application/json' }
  const added = await fetch(`${app}/api/mutation/add`, { method: 'POST', headers, body: '{"title":"two"}' })
  const id = added.headers.get('x-request-id')
  const { code, stdout } = await runSvc(server.folder, ['app', 'activity', '--json'])
  t.equal(code, 0)
  const rows = JSON.parse(stdout).upsert.filter((row: { request_id: string }) => row.request_id === id)
  t.match(rows, [
    { event: 'info', text: 'adding a note' },
    { event: 'sql', text: /^INSERT/, values: 1, rows: 0, changed: 1, function: 'mutation add' },
    { event: 'sql', text: 'COMMIT' },
    { event: 'request', text: 'POST /api/mutation/add', function: 'mutation add', status: 200 }
  ])
})
