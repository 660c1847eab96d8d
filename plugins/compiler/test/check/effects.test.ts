import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'

const TASK = '@table type Task { title: str }\n'

const findings = (source: string) => check(parse(source).module, { suppressHookLints: false })
const messages = (source: string) => findings(source).map(({ message }) => message)

t.test('a query that writes is reported with the way to the write', async t => {
  const source = `${TASK}fn two() { one() }\nfn one() { db.Task.delete(1) }\n@query fn q() { two() }`
  const [only, ...others] = findings(source)
  t.same(others, [])
  t.match(only, {
    code: 'lint.query_not_readonly',
    message: 'the query `q` must only read, but indirectly deletes from `Task`',
    fixes: [{ replacement: '@mutation' }]
  })
  t.same(
    only?.related.map(({ span, message }) => [source.slice(span.start, span.end), message]),
    [
      ['two', 'it calls `two` here'],
      ['one', 'it calls `one` here'],
      ['db.Task.delete(1)', 'it deletes from `Task` here']
    ]
  )
})

t.test('a query sees the writes of the handlers that it calls, and only of these', async t => {
  const actor = `${TASK}actor A { state n: int = 0\n on put() { db.Task.delete(1) }\n on add() to int { n += 1\n n }\n on get() to int { n } }\n`
  for (const [body, message] of [
    ['spawn(A).put()', 'deletes from `Task`'],
    ['let a = spawn(A)\n a.send put()', 'deletes from `Task`'],
    ['spawn(A).add()', 'changes the state of `A`']
  ]) {
    t.same(messages(`${actor}@query fn q() { ${body} }`), [`the query \`q\` must only read, but indirectly ${message}`])
  }
  t.same(messages(`${actor}@query fn q() to int { spawn(A).get() }`), [])
})

t.test('a query sees the writes of constants and of the initial state of actors', async t => {
  const put = `${TASK}fn put() to int { db.Task.insert({ title: "a" })\n 1 }\n`
  const refused = ['the query `q` must only read, but indirectly inserts into `Task`']
  t.same(messages(`${put}const SAVE = put\n@query fn q() to int { SAVE() }`), refused)
  const [only] = findings(`${put}const SAVE = put\n@query fn q() to int { SAVE() }`)
  t.same(
    only?.related.map(({ message }) => message),
    ['it uses `SAVE` here', 'it calls `put` here', 'it inserts into `Task` here']
  )
  t.same(
    messages(`${put}const SAVE = fn() to int put()\n@query fn q() to List[int] { [1].map(fn(x) SAVE()) }`),
    refused
  )
  t.same(messages(`${put}const N = put()\n@query fn q() to int { N }`), refused)
  const actor = `${put}actor A { state n: int = put()\n on get() to int { 2 } }\n`
  t.same(messages(`${actor}@query fn q() to int { spawn(A).get() }`), refused)
  t.same(messages(`${put}actor B { state n: int = 1\n on set() { put() } }\n@query fn q() { let b = spawn(B) }`), [])
  t.same(
    messages('const NOW = std.time.now_ms()\n@uses(net) fn f() to int { NOW }'),
    [],
    'what a constant reads is no effect of its users'
  )
})

t.test('a query sees the writes of the defaults that its values get, and only of these', async t => {
  const types = `${TASK}fn put() to int { db.Task.insert({ title: "a" })\n 1 }
type Point { x: int = put(), y: int = 2 }\ntype Line { from: Point, width: int = 1 }\n`
  const refused = ['the query `q` must only read, but indirectly inserts into `Task`']
  for (const written of [
    '@query fn q() to Point { Point { y: 1 } }',
    '@query fn q() to int { let p: Point = { y: 1 }\n p.y }',
    '@query fn q() to int { let r = { y: 1 }\n let p: Point = r\n p.y }',
    '@query fn q() to Line { { from: { y: 1 } } }',
    '@query fn q(more: bool) to int { let p = if more { Point { x: 1 } } else { { y: 1 } }\n p.x }',
    '@query fn q(line: Line) to int { line.width }',
    '@query fn q(text: str) to Result[int] { let line: Line = std.json.value(std.json.parse(text)?)\n Ok(line.width) }',
    'fn made() to Point { Point { } }\n@query fn q() to int { made().x }'
  ]) {
    t.same(messages(types + written), refused, written)
  }
  t.same(
    findings(`${types}@query fn q() to Point { Point { y: 1 } }`)[0]?.related.map(({ message }) => message),
    ['it uses the default of `Point.x` here', 'it calls `put` here', 'it inserts into `Task` here']
  )
  for (const written of [
    '@query fn q() to Point { Point { x: 1 } }',
    '@query fn q() to int { let r = { x: 1, y: 1 }\n let p: Point = r\n p.y }',
    '@query fn q(more: bool) to int { let p = if more { Point { x: 1, y: 1 } } else { { x: 1, y: 1 } }\n p.x }'
  ]) {
    t.same(messages(types + written), [], written)
  }
  const stored = `${types}@table type Drawing { line: Line }\n`
  t.same(messages(`${stored}@query fn q() to int { len(db.Drawing.all()) }`), refused)
  const loads = 'type Page { body: str = std.http.get_text("/").unwrap_or("") }\nfn f() uses fs to Page { Page { } }'
  t.same(messages(loads), ['`f` uses the default of `Page.body`, but does not declare the effect `net`'])
})

t.test('a query sees the writes of all handlers that a variable may name', async t => {
  const actor = `${TASK}actor A { on put() { db.Task.delete(1) }\n on get() to int { 2 } }\n`
  const refused = ['the query `q` must only read, but indirectly deletes from `Task`']
  for (const written of [
    '@query fn q(event: str) { let a = spawn(A)\n a.send(event) }',
    '@query fn q() { for a in [spawn(A)] { a.send("put") } }',
    'fn tell(a: any) { a.put() }\n@query fn q() { tell(spawn(A)) }',
    'fn tell(a: any, event: str) { a.send(event) }\n@query fn q() { tell(spawn(A), "put") }'
  ]) {
    t.same(messages(actor + written), refused, written)
  }
  t.same(messages(`${actor}fn ask(a: any) { a.get() }\n@query fn q() { ask(spawn(A)) }`), [])
  t.same(messages(`${actor}@query fn q() { spawn(A).send("get") }`), [])
})

t.test('a query may read files, but not write them', async t => {
  t.same(messages('@query fn q() to Result[str] { std.fs.read("a") }'), [])
  t.same(messages('@query fn q() to Result[Unit] { std.fs.write("a", "b") }'), [
    'the query `q` must only read, but uses `std.fs.write`'
  ])
  t.same(messages('@query fn q(xs: List[str]) { for x in xs { std.fs.remove(x)? } }'), [
    'the query `q` must only read, but uses `std.fs.remove`'
  ])
})

t.test('the effects of a lambda count where it is written, and of a function value where it is named', async t => {
  t.same(messages('@pure fn f(xs: List[int]) to List[int] { xs.map(fn(x) x + std.time.now_ms()) }'), [
    '`f` is marked as pure and uses `std.time.now_ms`, which has the effect `time`'
  ])
  t.same(messages('fn g(n: int) to int { n + std.now_ms() }\n@pure fn f(xs: List[int]) to List[int] { xs.map(g) }'), [
    '`f` is marked as pure and calls `g`, which has the effect `time`'
  ])
})

t.test('an effect row may name an effect or the wider one that covers it', async t => {
  const write = 'to Result[Unit] { std.fs.write("a", "b") }'
  t.same(messages(`fn f() uses fs ${write}`), [])
  t.same(messages(`fn f() uses fs_write ${write}`), [])
  t.same(messages(`${TASK}fn f() uses db to int { db.Task.count() }`), [])
  t.same(messages(`${TASK}fn f() uses db_read to int { db.Task.count() }`), [])
  t.same(messages('fn f() uses fs_write to Result[str] { std.fs.read("a") }'), [
    '`f` uses `std.fs.read`, but does not declare the effect `fs`'
  ])
  t.same(messages(`${TASK}fn f() uses db_read to int { db.Task.insert({ title: "a" }) }`), [
    '`f` inserts into `Task`, but does not declare the effect `db`'
  ])
})

t.test('effects in long cycles of calls are found', async t => {
  const count = 2_000
  const chain = Array.from({ length: count }, (_, index) => `fn f${index}() { f${(index + 1) % count}() }`).join('\n')
  t.match(messages(`${chain}\n@pure fn f() { f0() }`), [])
  t.match(messages(`${chain.replace('{ f1() }', '{ f1()\n std.random.float() }')}\n@pure fn f() { f9() }`), [
    '`f` is marked as pure and calls `f9`, which has the effect `random`'
  ])
})

t.test('arguments of decorators have no effects, but conditions have', async t => {
  const declarations = `${TASK}fn bump() to int { db.Task.insert({ title: "a" }) }\n`
  for (const decorator of ['@ai(model = bump())', '@hole(spec = bump())', '@deprecated(bump())']) {
    const body = decorator.startsWith('@ai') ? '' : ' { 1 }'
    const codes = findings(`${declarations}@query ${decorator} fn f() to int${body}`).map(({ code }) => code)
    t.notOk(codes.includes('lint.query_not_readonly'), decorator)
  }
  for (const decorator of ['@require', '@ensure', '@invariant']) {
    t.same(
      messages(`${declarations}@query ${decorator}(bump() > 0) fn f() to int { 1 }`),
      ['the query `f` must only read, but indirectly inserts into `Task`'],
      decorator
    )
  }
})
