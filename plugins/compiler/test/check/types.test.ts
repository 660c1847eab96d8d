import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'
import { isNativeFunction, NATIVES } from '#types'

const PRELUDE = `@table type Task { title: str done: bool due: Option[str] }
type Shape = | Circle(r: float) | Empty
type Point { x: int y: int }
actor Counter { state n: int = 0
 on add(by: int) to int { n + by } }
fn size(text: str) to int { len(text) }
fn maybe(n: int) to Option[int] { if n > 0 { Some(n) } else { None } }
fn risky(n: int) to Result[int] { if n > 0 { Ok(n) } else { Error("no") } }
`

const findings = (source: string) => {
  const text = PRELUDE + source
  const { module, diagnostics } = parse(text)
  return [...diagnostics, ...check(module, { suppressHookLints: false })]
    .filter(({ severity }) => severity === 'error')
    .map(({ code, span }) => [code as string, text.slice(span.start, span.end)])
}

t.test('a detached workflow call returns the run id', async t => {
  const text = 'workflow w() to Result[int] { Ok(1) }\n'
  t.same(findings(`${text}fn f() to Result[str] { w() with { id: "a", detach: true } }`), [])
  t.match(findings(`${text}fn f() to Result[str] { w() with { detach: false } }`), [['typecheck.return_mismatch']])
})

t.test('type mismatches are reported at the span of the value', t => {
  for (const [source, code, at] of [
    ['fn f() to int { "a" }', 'typecheck.return_mismatch', '"a"'],
    ['fn f(b: bool) to int { if b { 1 } else { "a" } }', 'typecheck.return_mismatch', '"a"'],
    ['fn f(b: bool) to int { match b { true => 1, false => 2.5 } }', 'typecheck.return_mismatch', '2.5'],
    ['fn f(b: bool) to int { return b }', 'typecheck.return_mismatch', 'b'],
    ['fn f() to int { maybe(1) }', 'typecheck.return_mismatch', 'maybe(1)'],
    ['fn f() to List[int] { ["a"] }', 'typecheck.return_mismatch', '["a"]'],
    ['fn f() to Shape { 1 }', 'typecheck.return_mismatch', '1'],
    ['fn g() { "a" } fn f() to int { g() }', 'typecheck.return_mismatch', 'g()'],
    ['@query fn f() to List[Task] { db.Task.count() }', 'typecheck.return_mismatch', 'db.Task.count()'],
    ['fn f() { let x: int = "a" }', 'typecheck.let_mismatch', '"a"'],
    ['let limit: int = "a"', 'typecheck.let_mismatch', '"a"'],
    ['fn f() { size(1) }', 'typecheck.arg_mismatch', '1'],
    ['fn f() { 1 |> str |> size\n size(text = 2) }', 'typecheck.arg_mismatch', '2'],
    ['fn f() { Circle("a") }', 'typecheck.arg_mismatch', '"a"'],
    ['fn f() { let x = 1\n x() }', 'typecheck.not_a_function', 'x'],
    ['fn f() { 1 + true }', 'typecheck.operands', '1 + true'],
    ['fn f() { 1dec * 2 }', 'typecheck.operands', '1dec * 2'],
    ['fn f() { -"a" }', 'typecheck.operands', '-"a"'],
    ['fn f() { "a".lenn() }', 'typecheck.unknown_method', 'lenn'],
    ['fn f(p: Point) { p.z }', 'typecheck.unknown_field', 'z'],
    ['fn f(t: Task) { t.titel }', 'typecheck.unknown_field', 'titel'],
    ['fn f() { for t in db.Task.all() { t.titel } }', 'typecheck.unknown_field', 'titel'],
    ['fn f() { let r = { a: 1 }\n r.b }', 'typecheck.unknown_field', 'b'],
    ['fn f(p: Option[Point]) { p.x }', 'typecheck.unknown_field', 'x'],
    ['fn f(p: Result[Point]) { p.x }', 'typecheck.unknown_field', 'x'],
    ['fn f() { db.Task.get(1).title }', 'typecheck.unknown_field', 'title'],
    ['fn f() { db.Task.get(1).unwrap().title }', 'typecheck.unknown_field', 'title'],
    ['fn f() { 1? }', 'typecheck.try_misuse', '1?'],
    ['fn f() to int { risky(1)? }', 'typecheck.try_misuse', 'risky(1)?'],
    ['fn f() to Result[int] { Ok(maybe(1)?) }', 'typecheck.try_misuse', 'maybe(1)?'],
    ['fn f() { spawn(Counter).addd(1) }', 'typecheck.actor.unknown_handler', 'addd'],
    ['component C() { state n: int = "a"\n view: <p/> }', 'typecheck.reactive.state', '"a"'],
    ['component C() { derived n: int = "a"\n view: <p/> }', 'typecheck.reactive.derived', '"a"'],
    ['fn f() { db.Task.filter({ done: "yes" }) }', 'typecheck.db.type', '"yes"'],
    ['fn f() { db.Task.where({ title: { in: ["a", 1] } }) }', 'typecheck.db.type', '1'],
    ['fn f() { db.Task.insert({ title: 1, done: true }) }', 'typecheck.db.type', '1']
  ] as const) {
    t.same(findings(source), [[code, at]], source)
  }
  t.end()
})

t.test('matching types and unknown types are not reported', t => {
  for (const source of [
    'fn f() to float { 1 }',
    'fn f() to Unit { 1 }',
    'fn f() to unit { print(1, "a") }',
    'fn f() to Unit { return Unit }',
    'fn f(b: bool) to int { if b { return 1 }\n 2 }',
    'fn f(b: bool) to int { while b { return 1 }\n panic("no") }',
    'fn f() to int { let mut n = 0\n loop { n += 1\n if n > 3 { return n } } }',
    'fn f() to str { "a" + 1 + 2.5 }',
    'fn f() to dec { 1.5dec + 2dec }',
    'fn f() to Id[Task] { db.Task.insert({ title: "a", done: true, due: "x" })? }',
    'fn f() to Result[int] { db.Task.insert({ title: "a", done: true }) }',
    'fn f() to Result[Unit] { db.Task.delete(1) }',
    '@query fn f() to List[Task] { db.Task.where({ done: true }).select("title") }',
    '@query fn f() to Option[Task] { db.Task.get(1) }',
    '@query fn f() to Result[List[Task]] { db.Task.all() }',
    '@query fn f(id: int) to str { match db.Task.get(id) { Some(t) => t.title, None => "" } }',
    '@query fn f() to int { match db.Task.all() { Ok(rows) => len(rows), Error(e) => 0 } }',
    '@query fn f() to int { len(db.Task.all()) }',
    '@query fn f() to bool { db.Task.all().is_ok() }',
    '@query fn f() to List[str] { db.Task.all().map(fn(t) t.title) }',
    'fn f() to Map[str, int] { { a: 1 } }',
    'fn f() to Point { { x: 1, y: 2 } }',
    'fn f() to Point { Point { x: 1, y: 2 } }',
    'fn f() to Task { { title: "a", done: true } }',
    'fn f() to Shape { Circle(1) }',
    'fn f() to Shape { Empty }',
    'fn f[T](x: T) to T { x }\nfn g() to int { f(1) }',
    'type Box[T] { value: T }\nfn f(b: Box[int]) to int { b.value }',
    'fn f() to Result[int, str] { Ok(risky(1)? + 1) }',
    'fn f() { risky(1)?\n maybe(1)?\n 1 }',
    'fn f() to int { let g = fn(n: int) to Result[int] { Ok(risky(n)?) }\n 1 }',
    'fn f() to Option[int] { None }',
    'fn f() to List[int] { [] }',
    'fn f() to fn(int) to int { fn(x) x + 1 }',
    'fn f(n) to int { if n is 0 { 1 } else { n * f(n - 1) } }',
    'fn odd(n: int) { if n is 0 { false } else { even(n - 1) } }\nfn even(n: int) { if n is 0 { true } else { odd(n - 1) } }',
    'fn f() to int { spawn(Counter).add(2) }',
    'fn f() to (int, str) { (1, "a") }',
    'fn f() to int { let (a, b) = (1, "x")\n a }',
    'fn f(x: any) to int { x.whatever().at(3) }',
    'http get "/x" to Task { match db.Task.get(1) { Some(t) => Ok(t), None => Error("no") } }',
    'http post "/x" to Result[int] { db.Task.insert(request.json()) }',
    'import std.fs\nfn f() to Result[str] { std.fs.read("a") }',
    'fn f() to List[int] { for x in [1, 2] { x * 2 } }',
    'fn f() to Element { <p>"a"</p> }',
    'fn f(m: Map[str, int]) to int { for (k, v) in m { len(k) + v }\n 1 }',
    'http get "/x/:size" to int { size + 1 }',
    'component C() { derived d: str = risky + "a"\n state risky = "x"\n view: <p>{d}</p> }'
  ]) {
    t.same(findings(source), [], source)
  }
  t.end()
})

t.test('access to a field of an optional value has a fix that unwraps it', t => {
  for (const [source, right] of [
    ['fn f(p: Option[Point]) to int { p.x }', 'fn f(p: Option[Point]) to int { p.unwrap().x }'],
    ['fn f(p: Result[Point]) to int { (p).x }', 'fn f(p: Result[Point]) to int { (p).unwrap().x }'],
    ['fn f() to str { db.Task.get(1).title }', 'fn f() to str { db.Task.get(1).unwrap().unwrap().title }'],
    ['fn f() to str { db.Task.get(1).unwrap().title }', 'fn f() to str { db.Task.get(1).unwrap().unwrap().title }'],
    ['fn f() to str { db.Task.find(1)?.title }', 'fn f() to str { db.Task.find(1)?.unwrap().title }']
  ] as const) {
    const text = PRELUDE + source
    const [fix] = check(parse(text).module, { suppressHookLints: false }).flatMap(({ fixes }) => fixes)
    const mended = `${text.slice(0, fix?.span.start)}${fix?.replacement}${text.slice(fix?.span.end)}`
    t.equal(mended.slice(PRELUDE.length), right)
    t.same(findings(right), [])
  }
  t.same(findings('fn f() { maybe(1).y }'), [['typecheck.unknown_field', 'y']], 'an unknown field has no fix')
  t.end()
})

t.test('long chains of functions without declared result types can be checked', t => {
  const count = 20_000
  const chain = Array.from({ length: count }, (_, index) => `fn f${index}() { f${(index + 1) % count}() }`).join('\n')
  t.same(findings(chain), [])
  t.end()
})

t.test('functions of other plugins return Results, with a fix if a value is expected', t => {
  const fixed = (source: string) => {
    const [found] = check(parse(source).module, { suppressHookLints: false })
    const [fix] = found?.fixes ?? []
    if (found === undefined || fix === undefined) return [found?.code, found?.foundType]
    return [found.code, found.foundType, source.slice(0, fix.span.start) + fix.replacement + source.slice(fix.span.end)]
  }
  t.same(fixed('fn f(p: str) { let n: int = Browser.text(p, "h1") }'), [
    'typecheck.let_mismatch',
    'Result[str]',
    'fn f(p: str) { let n: Result[str] = Browser.text(p, "h1") }'
  ])
  t.same(fixed('fn f() to str { Speech.transcribe("a.wav") }'), [
    'typecheck.return_mismatch',
    'Result[str]',
    'fn f() to str { Speech.transcribe("a.wav").unwrap() }'
  ])
  t.same(fixed('fn g(skills: str) { }\nfn f() { g(OpenClaw.list_skills()) }'), [
    'typecheck.arg_mismatch',
    'Result[str]',
    'fn g(skills: str) { }\nfn f() { g(OpenClaw.list_skills().unwrap()) }'
  ])
  t.same(fixed('fn f(p: str) to bool { Browser.close(p) }'), ['typecheck.return_mismatch', 'Result[Unit]'])
  for (const native of ['Browser', 'HTTP', 'OpenClaw', 'Speech'].flatMap(name => [
    ...(NATIVES.namespace(name)?.values() ?? [])
  ])) {
    const [, wanted] = / to (\S+)/.exec(native.source) ?? []
    const args = isNativeFunction(native) ? native.params.flatMap(each => (each.isOptional ? [] : ['x'])) : []
    const call = `fn f(x: any) to bool { ${native.path}(${args.join(', ')}) }`
    t.same(fixed(call), ['typecheck.return_mismatch', wanted], native.path)
  }
  for (const right of [
    'fn f() to Result[str] { Browser.open("http://a/", true) }',
    'fn f() to Result[str] { let p = Browser.open("http://a/")?\n Browser.goto(p, "http://b/")?\n Browser.text(p) }',
    'fn f() to str { match HTTP.get_text("http://a/") { Ok(text) => text, Error(e) => str(e) } }',
    'type Speech = | Loud(n: int)\nfn f() to Speech { Loud(1) }',
    'fn f(Browser: any) to int { Browser.text("a") }'
  ]) {
    t.same(findings(right), [], right)
  }
  t.end()
})

t.test('a type that doubles with each line takes no time', t => {
  const doubled = (name: string, double: (of: string) => string) =>
    Array.from({ length: 60 }, (_, i) => `let ${name}${i + 1} = ${double(`${name}${i}`)}\n`).join('')
  for (const double of [
    (of: string) => `{ x: ${of}, y: ${of} }`,
    (of: string) => `(${of}, ${of})`,
    (of: string) => `Ok((${of}, Some(${of})))`
  ]) {
    const both = `let a0 = 1\nlet b0 = 1\n${doubled('a', double)}${doubled('b', double)}`
    const text = `fn f() {\n${both}let c: int = a60\nlet d = [a60, b60]\nlet e = a60 == b60\nlet g: int = a3\n}`
    t.same(findings(text), [
      ['typecheck.let_mismatch', 'a60'],
      ['typecheck.let_mismatch', 'a3']
    ])
  }
  t.end()
})
