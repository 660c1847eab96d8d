import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { makeProject, SVC_BIN } from '../../../../test/e2e/served-project.ts'
import { serveApp } from './served-app.ts'

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

@scheduled("1h")
fn tidy() { }
`

interface Dev {
  readonly app: string
  readonly lines: string[]
  /** Resolves to the next line that matches, among all so far, too. */
  line(pattern: RegExp): Promise<string>
  end(): Promise<void>
}

async function dev(t: Test, ...argv: string[]): Promise<Dev> {
  const folder = makeProject(t, { 'app.vox': APP })
  const child = spawn(
    process.execPath,
    [SVC_BIN, 'dev', 'app.vox', '--port', '0', '--set', 'plugins.http.port=0', ...argv],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }
  )
  const ended = once(child, 'exit')
  const end = async (): Promise<void> => {
    child.kill('SIGINT')
    await ended
  }
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', text => {
      lines.push(text)
      for (const wake of waiting) wake()
    })
  }
  const line = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find(each => pattern.test(each))
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      void ended.then(() => reject(new Error(`svc dev ended before ${pattern}:\n${lines.join('\n')}`)))
      look()
    })
  const listening = await line(/app listens on/)
  await line(/generation 1/)
  return { app: /http:\/\/[\d.:]+/.exec(listening)![0], lines, line, end }
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

t.setTimeout(180_000)

t.test('svc dev --json shows requests, statements, log lines and live updates as objects', async t => {
  const { app, lines, line, end } = await dev(t, '--json')
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
  await end()
})

t.test('svc dev shows them as lines on a terminal', async t => {
  const { app, line, end } = await dev(t, '--set', 'kernel.log_format="pretty"')
  await post(`${app}/api/mutation/add`, { title: 'one' })
  t.match(await line(/adding/), /\[app-runtime\] adding {2}title_length=3 .*request_id=/)
  t.match(await line(/INSERT/), /INSERT INTO "note" .*event=sql .*values=2 {2}rows=0 {2}changed=1 {2}request_id=/)
  t.match(
    await line(/POST \/api/),
    /POST \/api\/mutation\/add {2}event=request .*status=200 {2}ms=[\d.]+ {2}request_id=/
  )
  await end()
})

t.test('a program that is served without svc dev logs only its own lines', async t => {
  const served = await serveApp(t, APP)
  t.match(await served.post('/api/mutation/add', { title: 'one' }), { status: 200 })
  t.match(await served.line(/"msg":"adding"/), /"title_length":3/)
  t.notOk(served.lines.some(each => each.includes('"event":')))
  await served.stop()
})
