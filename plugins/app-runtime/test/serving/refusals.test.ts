import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { serveApp } from './served-app.ts'

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

t.test('an Error has the status that its alternative names, and is never a success', async t => {
  const app = await serveApp(t, SOURCE, { 'app-runtime.threads': 2 })
  t.match(await app.get('/notes/7'), {
    status: 404,
    body: { code: 'RUN_REFUSED', error: /NotFound/, details: { _tag: 'NotFound', id: 7 } }
  })
  t.match(await app.post('/api/mutation/add', { title: 'a' }), { status: 200, body: 1 })
  t.match(await app.post('/api/mutation/add', { title: 'a' }), {
    status: 409,
    body: { code: 'RUN_REFUSED', details: { _tag: 'Conflict', title: 'a' } }
  })
  t.same(await app.get('/api/query/count'), { status: 200, body: 1 }, 'what was refused is undone')
  t.match(await app.post('/api/refuse', { n: 0 }), { status: 403, body: { details: { _tag: 'Forbidden' } } })
  t.match(await app.post('/api/refuse', { n: 1 }), { status: 500, body: { details: { _tag: 'Odd', n: 1 } } })
  t.match(await app.post('/api/plain', {}), { status: 500, body: { error: 'NotFound' } }, 'a text is no name')
})

t.test('a mutation that another one calls is a part of that, whatever it answers', async t => {
  const app = await serveApp(t, SOURCE, { 'app-runtime.threads': 2 })
  await app.post('/api/mutation/add', { title: 'a' })
  t.match(await app.post('/api/mutation/add_or_not', { first: 'a', second: 'b' }), { status: 200, body: 'twice' })
  t.same(
    await app.get('/api/query/count'),
    { status: 200, body: 3 },
    'what was refused inside is there, and what came then'
  )
  t.match(await app.post('/api/mutation/add_both', { first: 'c', second: 'b' }), { status: 409 })
  t.same(await app.get('/api/query/count'), { status: 200, body: 3 }, 'an Error of the outer one undoes both')
})

t.test('a mutation that waits for another server holds up writers for as long as it may, and no one else', async t => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  const app = await serveApp(t, SOURCE, { 'app-runtime.threads': 2, 'app-runtime.time_limit_ms': 3000 })
  const asked = once(silent, 'request')
  const waits = app.post('/api/mutation/wait_for', { url })
  await asked
  t.same(await app.get('/api/query/count'), { status: 200, body: 0 }, 'who reads sees nothing of it')
  const other = app.post('/api/mutation/add', { title: 'a' })
  t.match(await waits, { status: 504, body: { code: 'RUN_TIME_LIMIT' } })
  t.match(await other, { status: 200 })
  t.same(await app.get('/api/query/count'), { status: 200, body: 1 }, 'what had waited is undone')
})
