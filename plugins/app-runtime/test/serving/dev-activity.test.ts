import t, { type Test } from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { serveApp } from './served-app.ts'
import { type Command, svc } from './svc-command.ts'

const APP = `@table
type Note { title: str, done: bool = false }

@query
fn note(id: int) to Option[Note] { db.Note.get(id) }

@query
fn titles() to List[Note] { db.Note.all().live("notes") }

@server
fn raw() to int {
    db.query("SELECT 'a literal' AS word", []).len()
}

@mutation
fn add(title: str) to Result[int] {
    if title == "" { return Error("a title is needed") }
    std.log.info("adding", { title_length: title.len(), token: "in-the-fields", big: 9007199254740993 })
    Ok(db.Note.insert({ title: title }))
}

fn later(title: str) {
    db.Note.insert({ title: "again " + title })
    std.log.info("again " + title + " done")
}

@mutation
fn remind(title: str) {
    db.Note.insert({ title: title })
    run_later("100ms", later(title))
}

@scheduled("1h")
fn tidy() { }
`

/** Runs `svc dev`. Returns the command and the address of the program. */
async function dev(t: Test, ...argv: string[]): Promise<{ readonly command: Command; readonly app: string }> {
  const command = svc(t, makeProject(t, { 'app.vox': APP }), 'dev', 'app.vox', '--port', '0', ...argv)
  const listening = await command.line(/app listens on/)
  await command.line(/generation 1/)
  return { command, app: /http:\/\/[\d.:]+/.exec(listening)![0] }
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

t.setTimeout(180_000)

t.test('svc dev --json shows requests, statements, log lines and live updates as objects', async t => {
  const { app, command } = await dev(t, '--json')
  const { output: lines } = command
  const line = command.line.bind(command)
  const streaming = new AbortController()
  await fetch(`${app}/api/live/query/titles`, { signal: streaming.signal })
  await fetch(`${app}/api/live/notes`, { signal: streaming.signal })
  const added = await post(`${app}/api/mutation/add`, { title: 'a private title' })
  await line(/"event":"live".*query titles/)
  await line(/"event":"live".*topic notes/)
  /** Lines of a request, once the last one is written. */
  const of = async ({ headers }: Response): Promise<Record<string, unknown>[]> => {
    const id = headers.get('x-request-id')
    await line(new RegExp(`"event":"request".*"request_id":"${id}"`))
    return lines
      .filter(each => each.startsWith('{'))
      .map(each => JSON.parse(each) as Record<string, unknown>)
      .filter(({ request_id, plugin }) => request_id === id && plugin === 'app-runtime')
  }
  t.match(await of(added), [
    { msg: 'adding', title_length: 15, token: '***', big: '9007199254740993' },
    {
      event: 'sql',
      msg: 'INSERT INTO "note" ("title", "done") VALUES (?, ?)',
      function: 'mutation add',
      values: 2,
      rows: 0,
      changed: 1,
      ms: Number
    },
    { event: 'sql', msg: 'COMMIT', values: 0 },
    { event: 'request', msg: 'POST /api/mutation/add', function: 'mutation add', status: 200, ms: Number }
  ])
  // The first query runs in a thread, later ones as lookups in the process.
  for (const _ of [1, 2, 3]) {
    const found = await fetch(`${app}/api/query/note?id=1`)
    const [statement, ...others] = await of(found)
    t.match(statement, { event: 'sql', msg: /^SELECT .* WHERE "_id" = \?$/, values: 1, rows: 1, changed: 0 })
    t.match(others.at(-1), { event: 'request', status: 200 })
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  const raw = await post(`${app}/api/raw`, {})
  t.match((await of(raw))[0], { event: 'sql', msg: 'SELECT ? AS word', rows: 1 })
  const refused = await post(`${app}/api/mutation/add`, { title: '' })
  t.match((await of(refused)).at(-1), { event: 'request', status: 500 })
  const page = await fetch(`${app}/nothing?token=abc`)
  t.match(await of(page), [{ event: 'request', msg: 'GET /nothing', status: 404 }])
  t.notOk(
    lines.some(each => /a private title|in-the-fields|a literal|token=abc/.test(each)),
    'values of the program are not shown'
  )
  streaming.abort()
})

t.test('the statements of the workflow engine are one line of a call, and those of the program are shown', async t => {
  const { app, command } = await dev(t, '--json')
  const added = await post(`${app}/api/mutation/remind`, { title: 'one' })
  const id = added.headers.get('x-request-id')
  await command.line(/again one.*done/)
  await command.line(/"event":"call".*due runs and messages/)
  const shown = command.output
    .filter(each => each.startsWith('{') && each.includes('"event":"sql"'))
    .map(each => JSON.parse(each) as Record<string, unknown>)
  const texts = shown.filter(({ request_id }) => request_id === id).map(({ msg }) => String(msg))
  t.match(texts, [/^INSERT INTO "note"/, 'COMMIT', /^\d+ statements of the workflow engine$/])
  t.equal(texts.length, 3)
  const later = shown.filter(each => each.function === 'due runs and messages').map(({ msg }) => String(msg))
  t.equal(later.filter(text => text.startsWith('INSERT INTO "note"')).length, 1)
  t.ok(later.some(text => /^\d+ statements? of the workflow engine$/.test(text)))
  t.notOk(later.some(text => /workflow_run_log|coord_items|sqlite_master/.test(text)))
})

t.test('svc dev shows them as lines on a terminal', async t => {
  const { app, command } = await dev(t, '--set', 'kernel.log_format="pretty"')
  await post(`${app}/api/mutation/add`, { title: 'one' })
  t.match(await command.line(/adding/), /\[app-runtime\] adding {2}title_length=3 .*request_id=/)
  t.match(
    await command.line(/INSERT/),
    /INSERT INTO "note" .*event=sql .*values=2 {2}rows=0 {2}changed=1 {2}request_id=/
  )
  t.match(
    await command.line(/POST \/api/),
    /POST \/api\/mutation\/add {2}event=request .*status=200 {2}ms=[\d.]+ {2}request_id=/
  )
})

t.test('a program that is served without svc dev logs only its own lines', async t => {
  const served = await serveApp(t, APP)
  t.match(await served.post('/api/mutation/add', { title: 'one' }), { status: 200 })
  t.match(await served.line(/"msg":"adding"/), /"title_length":3/)
  t.notOk(served.lines.some(each => each.includes('"event":')))
  await served.stop()
})
