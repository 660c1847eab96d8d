import t from 'tap'
import { type App, args, ask, serveApp } from './served-app.ts'

const SOURCE = `
type Point { x: int
    y: int = 7 }

type Shape =
    | Circle(center: Point, radius: float)
    | Nothing

@table
type Note { text: str
    stars: int = 0
    tag: Option[str] }

@query
fn add(a: int, b: int = 5) to int { a + b }

@query
fn echo(shape: Shape, points: List[Point], price: dec, maybe: Option[int]) to (Shape, List[Point], dec, Option[int]) {
    (shape, points, price, maybe)
}

@query
fn notes() to List[Note] { db.Note.all().order_by("_id", "asc").limit(1000) }

@query
fn note(id: Id[Note]) to Result[Note] {
    match db.Note.get(id) {
        Some(found) => Ok(found)
        None => Error("there is no note " + str(id))
    }
}

@mutation
fn add_note(text: str, tag: Option[str]) to Result[int] {
    let id = db.Note.insert({ text: text, tag: tag })?
    if text is "" { return Error("a note needs a text") }
    if text is "crash" { assert(false, "on purpose") }
    Ok(id)
}

@mutation
fn wrongly() to int {
    db.Note.insert({ text: "of no use", tag: None })
    untyped("a text")
}

fn untyped(value: any) to any { value }

@server
fn divide(a: int, b: int) to int { a / b }

@server
fn nothing() to Unit { print("said") }

http get "/hello/:name" to str { "hello " + name }
http get "/items/:id"(id: int, limit: int = 10, q: Option[str]) to List[str] { [str(id), str(limit), q.unwrap_or("-")] }
@query
fn half(n: float) to float { n / 2.0 }
http post "/points"(point: Point) to Point { point }
http post "/pairs"(a: int, b: str) to str { str(a) + b }
http put "/raw/:id"(id: int) to str { request.text() + str(id) + request.json().name + request.header("x-one").unwrap_or("") }
http delete "/items/:id"(id: int) to Result[Unit] { if id is 0 { Error("no such item") } else { Ok(Unit) } }
`

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE)
})

t.test('a query accepts parameters as JSON in any order, and uses defaults for omitted ones', async t => {
  t.same(await app.get('/api/query/add?a=1'), { status: 200, body: 6 })
  t.same(await app.get('/api/query/add?b=2&a=40'), { status: 200, body: 42 })
  const values = {
    shape: { _tag: 'Circle', center: { x: 1 }, radius: 2.5 },
    points: [{ x: 1, y: 2 }],
    price: '12.50',
    maybe: 3
  }
  const answered = [{ _tag: 'Circle', center: { x: 1, y: 7 }, radius: 2.5 }, [{ x: 1, y: 2 }], '12.50', 3]
  t.same(await app.get(`/api/query/echo${args(values)}`), { status: 200, body: answered })
  const { maybe: _, ...without } = values
  t.match(await app.get(`/api/query/echo${args({ ...without, shape: { _tag: 'Nothing' } })}`), {
    status: 200,
    body: [{ _tag: 'Nothing' }, [{}], '12.50', null]
  })
})

t.test('ints keep all digits', async t => {
  const response = await fetch(`${app.app}/api/query/add?a=9007199254740993&b=9007199254740993`)
  t.equal(await response.text(), '18014398509481986')
})

t.test('invalid arguments are rejected with the name of the parameter', async t => {
  const refusals: readonly (readonly [path: string, details: object])[] = [
    ['/api/query/add', { path: 'a', expected: 'int', found: 'nothing' }],
    ['/api/query/add?a=%22x%22', { path: 'a', expected: 'int', found: '"x"' }],
    ['/api/query/add?a=x', { path: 'a', expected: 'JSON', found: '"x"' }],
    ['/api/query/add?a=1&c=2', { path: 'c', found: '2' }],
    ['/api/query/add?a=1.5', { path: 'a', expected: 'int', found: '1.5' }],
    ['/items/x', { path: 'id', expected: 'int', found: '"x"' }],
    ['/items/1?limit=many', { path: 'limit', expected: 'int', found: '"many"' }]
  ]
  for (const [path, details] of refusals) {
    t.match(await app.get(path), { status: 400, body: { code: 'RUN_ARGUMENTS', details } }, path)
  }
  t.match(await app.get('/api/query/add?a=1&a=2'), { status: 400, body: { error: 'a is passed twice' } })
  t.match(await app.get('/items/1?limit=1&limit=2'), { status: 400, body: { error: 'limit is passed twice' } })
  const bodies: readonly (readonly [path: string, body: string, details: object])[] = [
    ['/api/divide', '{"a":1}', { path: 'b', expected: 'int', found: 'nothing' }],
    ['/api/divide', '{"a":1,"b":2,"c":[]}', { path: 'c', found: 'an array of 0' }],
    ['/api/divide', '[1,2]', { path: '', found: 'an array of 2' }],
    ['/api/divide', '{"a":1,', { path: '', expected: 'JSON' }],
    ['/points', '{"x":1,"y":"2"}', { path: 'point.y', expected: 'int', found: '"2"' }],
    ['/points', '', { path: 'point', expected: 'Point', found: 'nothing' }],
    ['/pairs', '{"a":1}', { path: 'b', expected: 'str', found: 'nothing' }]
  ]
  for (const [path, body, details] of bodies) {
    t.match(await app.post(path, body), { status: 400, body: { code: 'RUN_ARGUMENTS', details } }, `${path} ${body}`)
  }
  const invalid = await fetch(`${app.app}/api/divide`, { method: 'POST', body: new Uint8Array([0x22, 0xff, 0x22]) })
  t.equal(invalid.status, 400)
})

t.test('declared routes read parameters from the path, the query and the body', async t => {
  t.same(await app.get('/hello/J%C3%B6rg%20%2F'), { status: 200, body: 'hello Jörg /' })
  t.same(await app.get('/items/007?q=%22a%22'), { status: 200, body: ['7', '10', '"a"'] })
  t.same(await app.post('/points', { x: 1 }), { status: 200, body: { x: 1, y: 7 } })
  t.same(await app.post('/pairs', { a: 1, b: 'x' }), { status: 200, body: '1x' })
  const put = { method: 'PUT', body: '{"name":"n"}', headers: { 'x-one': '1' } }
  t.same(await ask(`${app.app}/raw/3`, put), { status: 200, body: '{"name":"n"}3n1' })
  t.match(await ask(`${app.app}/raw/3`, { ...put, body: '{"name"' }), { status: 400, body: { code: 'RUN_BODY' } })
  t.same(await ask(`${app.app}/items/1`, { method: 'DELETE' }), { status: 200, body: null })
})

t.test('a Result returns its value, or an error status', async t => {
  t.match(await app.get('/api/query/note?id=77'), {
    status: 500,
    body: { error: 'there is no note 77', code: 'RUN_REFUSED' }
  })
  t.match(await ask(`${app.app}/items/0`, { method: 'DELETE' }), { status: 500, body: { error: 'no such item' } })
  t.same(await app.post('/api/nothing', {}), { status: 200, body: null })
})

t.test('a failure is reported without the path of the program', async t => {
  const { status, body } = await app.post('/api/divide', { a: 1, b: 0 })
  t.equal(status, 500)
  t.same(body, {
    error: '1 divided by zero',
    code: 'RUN_DIVISION_BY_ZERO',
    request_id: (body as { request_id: string }).request_id
  })
  const line = await app.line(/RUN_DIVISION_BY_ZERO/)
  t.match(line, /app\.vox:\d+:\d+/, 'the log has the position')
  for (const path of ['/api/query/add?a=x', '/api/query/note?id=77']) {
    t.notMatch(JSON.stringify(await app.get(path)), app.folder)
  }
})

t.test('a mutation writes all or nothing', async t => {
  const before = (await app.get('/api/query/notes')).body as unknown[]
  t.match(await app.post('/api/mutation/add_note', { text: 'one', tag: 'a' }), { status: 200, body: Number })
  t.match(await app.post('/api/mutation/add_note', { text: '' }), { status: 500, body: { code: 'RUN_REFUSED' } })
  t.match(await app.post('/api/mutation/add_note', { text: 'crash' }), { status: 500, body: { code: 'RUN_ASSERTION' } })
  t.match(await app.post('/api/mutation/wrongly', {}), { status: 500, body: { code: 'RUN_TYPE' } })
  const after = (await app.get('/api/query/notes')).body as unknown[]
  t.match(after.slice(before.length), [{ _id: Number, text: 'one', stars: 0, tag: 'a' }])
  t.equal(after.length, before.length + 1)
})

t.test('invalid bodies return an error, and do not crash the program', async t => {
  const bodies = [
    'null',
    '1',
    '"x"',
    '{}',
    '{"__proto__":{"a":1}}',
    '{"constructor":{"a":1}}',
    '{"a":1e999,"b":1}',
    `{"a":${'9'.repeat(400)},"b":1}`,
    '{"a":1,"a":2,"b":"x"}',
    '['.repeat(100_000),
    `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)},"b":1}`,
    '\u0000',
    '{"a":"\\ud800","b":1}',
    '\ufeff{"a":1,"b":1}'
  ]
  for (const body of bodies) {
    const { status } = await app.post('/api/divide', body)
    t.equal(status, 400, body.slice(0, 40))
  }
  t.same(await app.post('/api/divide', { a: 4, b: 2 }), { status: 200, body: 2 }, 'the program still responds')
})

t.test('a wrong method returns 405, and an unknown path 404', async t => {
  for (const [path, allow] of [
    ['/api/mutation/add_note', 'POST, OPTIONS'],
    ['/raw/1', 'PUT, OPTIONS']
  ] as const) {
    const response = await fetch(app.app + path)
    t.equal(response.status, 405, path)
    t.equal(response.headers.get('allow'), allow)
    t.match(await response.json(), { code: 'RUN_METHOD' })
  }
  t.match(await app.get('/raw'), { status: 404, body: { code: 'RUN_NOT_FOUND' } })
  t.match(await app.get('/api/mutation/'), { status: 404 })
})

t.test('a body without a required member is a client error', async t => {
  const put = (body: string) => ask(`${app.app}/raw/1`, { method: 'PUT', body })
  t.match(await put('{"other": 1}'), { status: 400, body: { error: 'the body has no name', code: 'RUN_BODY' } })
  t.match(await put('[]'), { status: 400 })
})

t.test('a number beyond the range of floats is rejected', async t => {
  t.match(await app.get('/api/query/half?n=1e400'), {
    status: 400,
    body: { details: { path: 'n', expected: 'float' } }
  })
})
