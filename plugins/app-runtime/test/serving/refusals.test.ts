import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { type App, serveApp } from './served-app.ts'

const SOURCE = `
type Problem =
    | NotFound(id: int)
    | Conflict(title: str)
    | Forbidden
    | Odd(n: int)

@table
type Note { title: str }

http get "/notes/:id"(id: int) to Result[Note, Problem] {
    match db.Note.find(id) {
        Some(note) => Ok(note)
        None => Error(NotFound(id))
    }
}

@mutation
fn add(title: str) to Result[int, Problem] {
    let id = db.Note.insert({ title: title })
    if db.Note.filter({ title: title }).count() > 1 { return Error(Conflict(title)) }
    Ok(id)
}

@server
fn refuse(n: int) to Result[int, Problem] {
    if n is 0 { return Error(Forbidden) }
    Error(Odd(n))
}

@server
fn plain() to Result[int] { Error("NotFound") }

type Added = Result[int, Problem]
type Saved = Added

@mutation
fn add_as_saved(title: str) to Saved {
    let id = add(title)?
    if title is "bad" { return Error(Conflict(title)) }
    Ok(id)
}

@query
fn count() to int { db.Note.count() }

@mutation
fn add_or_not(first: str, second: str) to str {
    match add(first) {
        Ok(id) => "added"
        Error(Conflict(title)) => {
            db.Note.insert({ title: second })
            "twice"
        }
        Error(other) => "no"
    }
}

@mutation
fn add_both(first: str, second: str) to Result[int, Problem] {
    add(first)?
    add(second)
}

@mutation
fn wait_for(url: str) to Result[str] {
    db.Note.insert({ title: "waits" })
    std.http.get_text(url)
}
`

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE, { 'app-runtime.threads': 2, 'app-runtime.time_limit_ms': 3000 })
})

const count = async (): Promise<number> => (await app.get('/api/query/count')).body as number

t.test('an Error has the status of its variant name, and never a success status', async t => {
  t.match(await app.get('/notes/7'), {
    status: 404,
    body: { code: 'RUN_REFUSED', error: /NotFound/, details: { _tag: 'NotFound', id: 7 } }
  })
  t.match(await app.post('/api/mutation/add', { title: 'a' }), { status: 200, body: 1 })
  t.match(await app.post('/api/mutation/add', { title: 'a' }), {
    status: 409,
    body: { code: 'RUN_REFUSED', details: { _tag: 'Conflict', title: 'a' } }
  })
  t.same(await app.get('/api/query/count'), { status: 200, body: 1 }, 'a change with an Error is rolled back')
  t.match(await app.post('/api/refuse', { n: 0 }), { status: 403, body: { details: { _tag: 'Forbidden' } } })
  t.match(await app.post('/api/refuse', { n: 1 }), { status: 500, body: { details: { _tag: 'Odd', n: 1 } } })
  t.match(
    await app.post('/api/plain', {}),
    { status: 500, body: { error: 'NotFound' } },
    'a text is not a variant name'
  )
})

t.test('a Result with another name answers as a Result does, and its Error rolls back', async t => {
  t.match(await app.post('/api/mutation/add_as_saved', { title: 'good' }), { status: 200, body: Number })
  const before = await count()
  t.match(await app.post('/api/mutation/add_as_saved', { title: 'bad' }), {
    status: 409,
    body: { code: 'RUN_REFUSED', details: { _tag: 'Conflict', title: 'bad' } }
  })
  t.equal(await count(), before)
})

t.test('a nested mutation joins the outer transaction, even if it returns an Error', async t => {
  const before = await count()
  t.match(await app.post('/api/mutation/add_or_not', { first: 'a', second: 'b' }), { status: 200, body: 'twice' })
  t.equal(await count(), before + 2, 'the row of the nested mutation is stored, and the one after it')
  t.match(await app.post('/api/mutation/add_both', { first: 'c', second: 'b' }), { status: 409 })
  t.equal(await count(), before + 2, 'an Error of the outer mutation rolls back both rows')
})

t.test('a mutation that waits for another server blocks only writers, up to its time limit', async t => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  const before = await count()
  const requested = once(silent, 'request')
  const waits = app.post('/api/mutation/wait_for', { url })
  await requested
  t.equal(await count(), before, 'readers do not see its changes')
  const other = app.post('/api/mutation/add', { title: 'other' })
  t.match(await waits, { status: 504, body: { code: 'RUN_TIME_LIMIT' } })
  t.match(await other, { status: 200 })
  t.equal(await count(), before + 1, 'the write before the wait is rolled back')
})
