import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ServedApp, serveInProcess, until } from '../../../../test/e2e/served-in-process.ts'

const SOURCE = `
type Tag { name: str, weight: int }

@table
type Note { title: str, done: bool = false, price: Option[dec], tags: List[Tag], at: Option[int], near: Option[Tensor[2]] }

@table
type Order { group: str, select: Option[int] }

@query
fn titles() to List[str] { db.Note.all().map(fn(note) note.title) }

@query
fn note(id: int) to Option[Note] { db.Note.get(id) }

@mutation
fn add(title: str) to Result[int] {
    if title == "" { return Error("a title is needed") }
    let id = db.Note.insert({ title: title, tags: [], at: 9007199254740993 })
    db.Note.update(id, { done: true })
    Ok(id)
}

@mutation
fn fill(count: int) to Unit {
    for n in range(0, count) { db.Order.insert({ group: "g" + str(n % 7), select: n }) }
}

http get "/hello/:name" (name: str, twice: Option[bool]) to str { "hello " + name }

http post "/echo" { request.text() }

activity pay(amount: int) to Result[int] { Ok(amount) }
workflow order(amount: int) to Result[str] {
    pay(amount)?
    let how = workflow_wait_signal("paid")
    Ok("paid by " + how.who)
}
@server
fn start(id: str) to Result[str] { order(5) with { id: id, detach: true } }
@server
fn result(id: str) to Result[str] { order(5) with { id: id } }
`

let app: ServedApp
t.before(async () => {
  app = await serveInProcess(t as never, SOURCE)
})

t.test('a served program is listed and described', async t => {
  t.match(await app.call('app.list'), {
    apps: [{ name: 'app', file: 'app.vox', state: 'serving', url: /^http:\/\/127/, tables: 2, workflows: 1 }],
    note: ''
  })
  const { app: about, routes, tables, functions, workflows } = await app.call('app.describe', { app: 'app' })
  t.match(about, { name: 'app', state: 'serving', auth: 'none', database: /store\.db$/ })
  t.match(
    routes.find(({ name }: { name: string }) => name === 'add'),
    {
      route: 'POST /api/mutation/add',
      kind: 'mutation',
      params: [{ name: 'title', in: 'body', type: 'str', required: true }],
      returns: 'int',
      auth: 'none'
    }
  )
  t.match(
    routes.find(({ path }: { path: string }) => path === '/hello/:name'),
    { method: 'GET', inputs: 'name: str, twice: Option[bool] (optional)' }
  )
  t.match(tables, [
    {
      name: 'Note',
      stored_as: 'note',
      columns: [
        { name: 'title', kind: 'str', optional: false, has_default: false },
        { name: 'done', kind: 'bool', has_default: true },
        { name: 'price', kind: 'dec', optional: true },
        { name: 'tags', kind: 'json', type: 'List[Tag]' },
        { name: 'at', kind: 'int' },
        { name: 'near', kind: 'vector' }
      ]
    },
    { name: 'Order' }
  ])
  t.match(workflows, [{ name: 'order', kind: 'workflow', params: 'amount: int' }, { kind: 'activity' }])
  t.type(functions, Array)
  const { routes: whole } = await app.call('app.describe', { app: 'app', schemas: true })
  t.match(
    whole.find(({ name }: { name: string }) => name === 'note'),
    { schema: { properties: { id: { type: 'integer' } } } }
  )
  await t.rejects(app.call('app.describe', { app: 'other' }), { code: 'APP_UNKNOWN', hint: /it serves app/ })
  t.match(await app.call('app.search', { text: 'order' }), {
    results: [{ kind: 'table', link: '/ui/p/app-runtime/apps/app/tables/Order' }]
  })
})

t.test('a request goes to the listener of the program, and appears in the feed with its statements', async t => {
  const before = await app.call('app.feed')
  const add = { app: 'app', method: 'POST', path: '/api/mutation/add', body: { title: 'one' } }
  const added = await app.call('app.request', add)
  t.match(added, { status: 200, body: '1', encoding: 'text', cut: false, headers: { 'content-type': /json/ } })
  t.match(await app.call('app.request', { app: 'app', path: '/hello/a%20b', query: { twice: true } }), {
    status: 200,
    body: '"hello a b"'
  })
  t.match(await app.call('app.request', { ...add, body: { title: '' } }), { status: 500, body: /a title is needed/ })
  t.match(await app.call('app.request', { ...add, path: '/echo', body: 'plain' }), { status: 200, body: '"plain"' })
  const { upsert, reset } = await app.call('app.feed', { since: before.cursor })
  t.equal(reset, false)
  t.match(upsert, [
    { app: 'app', name: 'mutation add', status: 200, sql: 2, request_id: added.request_id },
    { path: '/hello/:name', sql: 0 },
    { status: 500, sql: 0 },
    { path: '/echo' }
  ])
  t.same((await app.call('app.feed', { since: (await app.call('app.feed')).cursor })).upsert, [])
})

t.test('a request cannot leave the listener of the program', async t => {
  for (const path of ['http://127.0.0.1:1/', 'hello', '/a b', '/a\r\nx: y', '/\u00e4']) {
    await t.rejects(app.call('app.request', { app: 'app', path }), { code: 'APP_REQUEST_INVALID' }, path)
  }
  t.match(await app.call('app.request', { app: 'app', path: '//example.com/hello' }), { status: 404 })
  for (const headers of [{ Host: 'example.com' }, { 'Transfer-Encoding': 'chunked' }, { upgrade: 'websocket' }]) {
    await t.rejects(app.call('app.request', { app: 'app', path: '/', headers }), { code: 'APP_REQUEST_INVALID' })
  }
  await t.rejects(app.call('app.request', { app: 'app', path: '/', headers: { a: 'b\r\nc: d' } }), {
    code: 'APP_REQUEST_INVALID'
  })
  await t.rejects(app.call('app.request', { app: 'app', path: '/', body: {} }), { code: 'APP_REQUEST_INVALID' })
})

t.test('values of all types survive reading, editing and reading again', async t => {
  const [row] = (await app.call('app.table.rows', { app: 'app', table: 'Note' })).rows
  t.match(row, { _id: 1, title: 'one', done: true, price: null, tags: [], at: '9007199254740993', near: null })
  const after = { price: '12.50', tags: [{ name: 'a', weight: 2 }], near: [0.5, -1], done: false, at: '-5' }
  const { row: changed } = await app.call('app.table.update', {
    app: 'app',
    table: 'Note',
    key: 1,
    before: row,
    after
  })
  t.same(changed, { ...row, ...after, at: -5 })
  t.match((await app.post('/api/mutation/add', { title: 'x' })).status, 200)
  const { body } = await app.call('app.request', { app: 'app', path: '/api/query/note', query: { id: 1 } })
  t.same(JSON.parse(body), changed, 'the program sees the same values')
})

t.test('an edit of a row that was changed in between is refused, and loses nothing', async t => {
  const [row] = (await app.call('app.table.rows', { app: 'app', table: 'Note' })).rows
  const edit = { app: 'app', table: 'Note', key: row._id, before: row }
  await app.call('app.table.update', { ...edit, after: { title: 'first' } })
  await t.rejects(app.call('app.table.update', { ...edit, after: { title: 'second' } }), {
    code: 'APP_ROW_CHANGED',
    status: 409,
    data: { column: 'title', row: { title: 'first' } }
  })
  await t.rejects(app.call('app.table.delete', edit), { code: 'APP_ROW_CHANGED' })
  await t.rejects(app.call('app.table.update', { ...edit, before: {}, after: { title: 'x' } }), {
    code: 'APP_VALUE_INVALID'
  })
  const before = { title: 'first' }
  const edits = await Promise.allSettled(
    ['a', 'b', 'c'].map(title => app.call('app.table.update', { ...edit, before, after: { title } }))
  )
  t.equal(edits.filter(({ status }) => status === 'fulfilled').length, 1, 'one of three concurrent edits succeeds')
})

t.test('rows are added and deleted; invalid values are refused', async t => {
  const table = { app: 'app', table: 'Note' }
  const { row } = await app.call('app.table.insert', { ...table, values: { title: 'new', tags: [] } })
  t.match(row, { title: 'new', done: false, price: null })
  await t.rejects(app.call('app.table.insert', { ...table, values: { title: 'no tags' } }), { code: 'RUN_CONSTRAINT' })
  for (const values of [{ title: 5 }, { done: 'yes' }, { price: 'x' }, { tags: [{ name: 'a' }] }, { near: [1] }]) {
    await t.rejects(app.call('app.table.insert', { ...table, values: { title: 't', tags: [], ...values } }), {
      code: 'APP_VALUE_INVALID'
    })
  }
  await t.rejects(app.call('app.table.insert', { ...table, values: { _id: 7, title: 't', tags: [] } }), {
    code: 'APP_VALUE_INVALID'
  })
  await t.rejects(app.call('app.table.insert', { ...table, values: { title: 'a\u0000b', tags: [] } }))
  t.match(await app.call('app.table.delete', { ...table, key: row._id, before: row }), { row: { title: 'new' } })
  await t.rejects(app.call('app.table.delete', { ...table, key: row._id }), { code: 'APP_ROW_UNKNOWN' })
})

t.test('hostile names of tables and columns are refused; reserved words work', async t => {
  const names = ['note', 'sqlite_master', 'Note"; DROP TABLE note; --', '__proto__', 'constructor', 'workflow_run_log']
  for (const table of names)
    await t.rejects(app.call('app.table.rows', { app: 'app', table }), { code: 'APP_TABLE_UNKNOWN' }, table)
  const columns = ['"title"', 'title; DROP TABLE note', '__proto__', 'constructor', 'rowid', 'TITLE', '1']
  for (const column of columns) {
    const rows = { app: 'app', table: 'Note' }
    const filter = [{ column, op: 'eq', value: 1 }]
    await t.rejects(app.call('app.table.rows', { ...rows, filter }), { code: 'APP_COLUMN_UNKNOWN' }, column)
    await t.rejects(app.call('app.table.rows', { ...rows, sort: `-${column}` }), { code: 'APP_COLUMN_UNKNOWN' })
    const values = Object.fromEntries([[column, 'x']])
    await t.rejects(app.call('app.table.insert', { ...rows, values }), { code: 'APP_COLUMN_UNKNOWN' })
    await t.rejects(app.call('app.table.update', { ...rows, key: 1, before: values, after: values }), {
      code: 'APP_COLUMN_UNKNOWN'
    })
  }
  const { row } = await app.call('app.table.insert', { app: 'app', table: 'Order', values: { group: 'a\'b"c--' } })
  const order = { app: 'app', table: 'Order', key: row._id }
  t.match(await app.call('app.table.update', { ...order, before: row, after: { select: 4 } }), { row: { select: 4 } })
  const filter = [{ column: 'group', op: 'contains', value: '\'b"' }]
  t.match(await app.call('app.table.rows', { app: 'app', table: 'Order', filter, sort: 'select' }), { total: 1 })
  t.match(await app.call('app.table.delete', order), { row: { group: 'a\'b"c--' } })
  await t.rejects(app.call('app.table.rows', { app: 'app', table: 'Note' }, []), { code: 'OPR_FORBIDDEN' })
})

t.test('10,000 rows are paged in every order without loss or repetition', async t => {
  t.equal((await app.post('/api/mutation/fill', { count: 10_000 })).status, 200)
  const rows = { app: 'app', table: 'Order', limit: 500 }
  const first = await app.call('app.table.rows', rows)
  t.match(first, { total: 10_000, rows: { length: 500 } })
  for (const sort of [undefined, '-_id', 'group', '-group', '-select']) {
    const seen: number[] = []
    let cursor: string | null | undefined
    do {
      const page = await app.call('app.table.rows', { ...rows, ...(sort && { sort }), ...(cursor && { cursor }) })
      seen.push(...page.rows.map(({ _id }: { _id: number }) => _id))
      cursor = page.cursor
    } while (cursor)
    t.equal(seen.length, 10_000, String(sort))
    t.equal(new Set(seen).size, 10_000)
  }
  const filter = [
    { column: 'group', op: 'eq', value: 'g3' },
    { column: 'select', op: 'lt', value: '70' }
  ]
  const some = await app.call('app.table.rows', { ...rows, filter, sort: '-select' })
  t.match(some, { total: 10, cursor: null })
  t.match(some.rows[0], { group: 'g3', select: 66 })
  const { cursor } = await app.call('app.table.rows', { ...rows, sort: 'group' })
  await t.rejects(app.call('app.table.rows', { ...rows, cursor }), { code: 'APP_CURSOR_INVALID' })
  await t.rejects(app.call('app.table.rows', { ...rows, cursor: 'x' }), { code: 'APP_CURSOR_INVALID' })
})

t.test('rows without a value are paged, too', async t => {
  const values = [null, 3, null, 1, null, 2]
  for (const select of values) {
    await app.call('app.table.insert', { app: 'app', table: 'Order', values: { group: 'nulls', select } })
  }
  const filter = [{ column: 'group', value: 'nulls' }]
  for (const [sort, expected] of [
    ['select', [null, null, null, 1, 2, 3]],
    ['-select', [3, 2, 1, null, null, null]]
  ] as const) {
    const seen: unknown[] = []
    let cursor: string | null | undefined
    do {
      const input = { app: 'app', table: 'Order', filter, sort, limit: 2, ...(cursor && { cursor }) }
      const page = await app.call('app.table.rows', input)
      seen.push(...page.rows.map(({ select }: { select: unknown }) => select))
      cursor = page.cursor
    } while (cursor)
    t.same(seen, expected)
  }
})

t.test('an answer of the inbox resumes a run that waits for a signal, and its timeline shows the steps', async t => {
  const topic = 'app-runtime.workflows'
  const version = app.kernel.topics.version(topic)
  t.match(await app.post('/api/start', { id: 'o/1' }), { status: 200 })
  const { items } = await until(
    () => app.call('workflow.inbox'),
    found => found.items.length > 0
  )
  t.match(items, [
    { kind: 'signal', title: 'order waits for the signal paid', link: '/ui/p/app-runtime/workflows/o%2F1' }
  ])
  t.match(await app.call('workflow.search', { text: 'O/1' }), { results: [{ kind: 'workflow run' }] })
  const [send] = items[0].answers
  t.match(send, { operation: 'workflow.signal', ask: ['payload'], tone: 'primary' })
  const open = await app.call('workflow.timeline', { run_id: 'o/1' })
  t.match(open.bars, [
    { lane: 'order', state: 'waiting', end: null },
    { lane: 'pay (order-0)', state: 'completed', attempt: 1 },
    { lane: 'signal wait order-1', state: 'waiting', end: null, label: 'for paid' }
  ])
  t.ok(app.kernel.topics.version(topic) > version, 'changes of the run were announced')
  await app.call(send.operation, { ...send.input, payload: { who: 'me' } })
  t.same((await app.call('workflow.inbox')).items, [], 'an answered run does not wait for a person')
  t.match(await app.post('/api/result', { id: 'o/1' }), { status: 200, body: 'paid by me' })
  const ended = await app.call('workflow.timeline', { run_id: 'o/1' })
  t.match(ended, { run: { status: 'completed' }, omitted: 0, result: /paid by me/ })
  t.match(ended.bars.at(-1), { lane: 'signal paid', state: 'completed' })
  t.equal(ended.bars.filter(({ end }: { end: unknown }) => end === null).length, 0)
  t.match(await app.call('workflow.list', { active: true }), { runs: [] })
  t.match(await app.call('workflow.list', { program: 'app.vox', status: 'completed' }), { runs: [{ run_id: 'o/1' }] })
})

t.test('a run is replayed against the current program without executing a step', async t => {
  const run = { run_id: 'o/1' }
  t.match(await app.call('workflow.replay', run), {
    deterministic: true,
    detail: 'it completes with the recorded result',
    replayed: 2,
    recorded: 2
  })
  t.match(await app.post('/api/start', { id: 'open' }), { status: 200 })
  await until(
    () => app.call('workflow.inbox'),
    found => found.items.length === 1
  )
  const before = await app.call('workflow.inspect', { run_id: 'open' })
  t.match(await app.call('workflow.replay', { run_id: 'open' }), {
    deterministic: true,
    detail: 'it waits as recorded'
  })
  const file = join(app.folder, 'app.vox')
  const changes: readonly (readonly [from: string, to: string, detail: RegExp, open: boolean, ended: boolean])[] = [
    ['pay(amount)?\n', 'pay(amount)?\n    pay(amount)?\n', /order-1.*is now/, false, false],
    ['    pay(amount)?\n', '', /order-0.*was pay/, false, false],
    ['"paid by "', '"by "', /it waits|another result/, true, false],
    ['Ok("paid by " + how.who)', 'pay(9)?\n    Ok("paid by " + how.who)', /waits|begins the step order-2/, true, false],
    [
      '    let how = workflow_wait_signal("paid")\n    Ok("paid by " + how.who)',
      '    Ok("x")',
      /order-1|another/,
      false,
      false
    ]
  ]
  for (const [from, to, detail, open, ended] of changes) {
    t.ok(SOURCE.includes(from), from)
    writeFileSync(file, SOURCE.replace(from, to))
    const [ofOpen, ofEnded] = [
      await app.call('workflow.replay', { run_id: 'open' }),
      await app.call('workflow.replay', run)
    ]
    t.match([ofOpen.detail, ofEnded.detail], [detail, detail], to)
    t.same([ofOpen.deterministic, ofEnded.deterministic], [open, ended], to)
  }
  writeFileSync(file, 'workflow order(')
  await t.rejects(app.call('workflow.replay', run), { code: 'RUN_PROGRAM_INVALID' })
  writeFileSync(file, SOURCE)
  t.same(await app.call('workflow.inspect', { run_id: 'open' }), before, 'a replay stores nothing')
  await t.rejects(app.call('workflow.replay', { run_id: 'none' }), { code: 'RUN_WORKFLOW_UNKNOWN' })
  await app.call('workflow.cancel', { run_id: 'open' })
})
