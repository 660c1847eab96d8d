import t from 'tap'
import { checkFile, SourceFile } from '#root'

const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }

function diagnosticsOf(source: string) {
  return checkFile(new SourceFile('a.vox', source), options).diagnostics
}

/** Returns `CODE of TEXT` for each finding. */
function findings(source: string): string[] {
  return diagnosticsOf(source).map(({ code, span }) => `${code} of ${source.slice(span.start, span.end)}`)
}

t.test('declared types, imported types and type parameters are resolved', t => {
  const source = `import std.clock
import react Chart from "charts"
@table type Task { title: str owner: Id[Task] }
type Box[T] { value: T }
type Shape = | Circle(r: float) | Group(parts: list[Shape])
actor Counter { on add(n: int) to int { n } }
state_machine Door { state Open on close from Open -> Open }
fn f<T>(a: T, b: Option[Task], c: Box[int], d: fn(Shape) to unit, e: [Counter], g: clock, h: Chart, i: x.Other) to Door { d }
fn g(t: Tensor[2], j: Json, r: Request, m: map[str, any], k: cap, n: dec, o: (int, bool)?) { }
`
  t.same(
    findings(source).filter(each => each.startsWith('typecheck.undefined_type')),
    []
  )
  t.same(findings('type Box[T] { value: T }\nfn f(a: T) { }'), ['typecheck.undefined_type of T'])
  const [found] = diagnosticsOf('fn f(a: List[Strnig], b: sstr) { }')
  t.same(found?.fixes, [])
  t.match(diagnosticsOf('fn f(a: itn) { }'), [{ fixes: [{ label: 'write int', replacement: 'int' }] }])
  t.end()
})

t.test('duplicate names of one kind are reported', t => {
  t.same(
    findings(
      'type Point = | Point(x: int)\nfn point() { }\n@table type Task { a: int }\ncomponent Card() { view: <p/> }'
    ),
    []
  )
  t.same(findings('fn a() { }\nworkflow a() { }'), ['typecheck.duplicate_name of a'])
  t.same(findings('type T { a: int }\n@table type T { b: int }'), ['typecheck.duplicate_name of T'])
  t.same(findings('@table type T { a: int a: str }'), ['typecheck.duplicate_name of a'])
  t.same(findings('fn f(a: int, a: int) { }'), ['typecheck.duplicate_name of a'])
  t.same(findings('fn f(_: int, _: int) { fn(x, x) x }'), ['typecheck.duplicate_name of x'])
  t.match(diagnosticsOf('type A = | X\ntype B = | X'), [{ code: 'typecheck.duplicate_name', severity: 'warning' }])
  t.same(findings('actor A { on go() { } on go() { } }'), ['typecheck.duplicate_name of go'])
  t.same(findings('state_machine M { state A state A }'), ['typecheck.duplicate_name of A'])
  const twice = 'state A terminal state B on go from A -> B on go from A -> A'
  t.same(findings(`state_machine M { ${twice} }`), ['typecheck.duplicate_name of go'])
  t.same(findings('url Links { home home }'), ['typecheck.duplicate_name of home'])
  t.same(findings('@form Sign {\nfield a: str label("A")\nfield a: str label("A")\n}'), [
    'typecheck.duplicate_name of a'
  ])
  t.end()
})

t.test('an import with the name of a declaration is reported', t => {
  t.same(findings('import std.mobile\nfn mobile() { }'), ['typecheck.import.alias_conflict of mobile'])
  t.same(findings('import std.mobile as phone\nfn mobile() { }'), [])
  t.same(findings('import rust:serde(version: "1") as x\nimport rust:uuid(version: "1") as x'), [
    'typecheck.import.alias_conflict of x'
  ])
  t.end()
})

t.test('known crates are checked in imports and in uses of their items', t => {
  t.same(findings('import rust:uuid(version: "1")\nfn f() { uuid.Uuid }'), [])
  t.same(findings('import rust:anything(version: "1")\nfn f() { anything.goes }'), [])
  t.match(diagnosticsOf('import rust:sqlx(version: "0.8")'), [
    { code: 'typecheck.rust_import.deferred', severity: 'warning', suggestions: [/@table/] }
  ])
  t.match(diagnosticsOf('import rust:serde_json(version: "1") as j\nfn f() { j.from_srt }'), [
    { code: 'typecheck.rust_import.unknown_item', fixes: [{ replacement: 'from_str' }] }
  ])
  t.end()
})

t.test('low contrast of a text colour to its background is reported, in each table of a theme', t => {
  const theme = (entries: string): string[] => findings(`@theme Main { ${entries} }`)
  t.same(theme('background: "#fff" text: "#767676"'), [], '4.54:1')
  t.same(
    theme('background: "#fff" text: "#777777"'),
    ['lint.theme_contrast of "#777777"'],
    'a contrast of 4.47:1 is too low'
  )
  t.same(theme('primary: "#0000ff" on_primary: "#ffffff"'), [])
  t.same(theme('primary: "rgb(255, 255, 0)" primary_foreground: "#fff"'), ['lint.theme_contrast of "#fff"'])
  t.same(theme('dark: { background: "#000", text: "#111" } light: { background: "#fff", text: "#000" }'), [
    'lint.theme_contrast of "#111"'
  ])
  t.same(theme('background: "var(--x)" text: "#fff" gap: "4px"'), [])
  t.match(diagnosticsOf('@tokens { background: "#ffffff" text: "#aaaaaa" }'), [
    { message: '`text` on `background` has a contrast of 2.32:1, which is less than 4.5:1' }
  ])
  t.end()
})

t.test('a function has the effects of its callees', t => {
  const source = `fn read() to Result[str] { std.fs.read("a") }
fn twice() to Result[str] { read()?
 read() }
fn f() uses net to Result[str] { twice()?
 std.http.get_text("a") }
`
  const [found, ...rest] = diagnosticsOf(source)
  t.same(rest, [])
  t.match(found, {
    code: 'vox/effect/missing-fs-decl',
    severity: 'warning',
    message: /`f` calls `twice`/,
    fixes: [{ replacement: ', fs' }]
  })
  t.same(findings(source.replace('uses net', 'uses net, fs')), [])
  t.same(findings('fn g() uses net { }\nfn f() uses fs { g() }'), ['vox/effect/missing-net-decl of g'])
  t.same(findings('@uses(net) fn f() { std.fs.read("a") }'), ['vox/effect/missing-fs-decl of std.fs.read'])
  t.same(findings('fn f() { std.fs.read("a") }'), [], 'a function without declared effects may have any effect')
  t.same(findings('fn f(fs: any) uses net { fs.read("a") }'), [], 'a parameter is not a namespace')
  t.same(findings('@pure fn f(a: int) to int { a + 1 }'), [])
  t.same(findings('@pure fn f() uses net { }'), ['E_EFFECT_PURE_CONFLICT of @pure'])
  t.end()
})

t.test('a workflow may run non-deterministic code whose result is recorded', t => {
  t.same(findings('workflow w() { side_effect { std.time.now_ms() } }'), [])
  t.same(findings('activity a() to Result[int] { Ok(std.time.now_ms()) }\nworkflow w() { a() }'), [])
  t.same(findings('workflow w(process: any) { process.run() }'), [])
  t.same(findings('workflow w() { std.crypto.hash_fast("a")\n std.json.quote("1")\n workflow_wait("1s") }'), [])
  t.same(findings('workflow w() { if true { std.random.int(1, 2) } }'), [
    'vox/workflow/non-deterministic-call of std.random.int(1, 2)'
  ])
  t.end()
})

t.test('a function with @hole and a body is not reported', t => {
  t.same(findings('@hole fn f() to str { "a" }'), [])
  t.end()
})

t.test('an empty name is reported, other empty strings are not', t => {
  t.same(findings('workflow w() { workflow_wait_signal("") }'), ['typecheck.hir.empty_name of ""'])
  t.same(findings('activity a() to Result[int] { Ok(1) }\nworkflow w() { a() with { id: "" } }'), [
    'typecheck.hir.empty_name of ""'
  ])
  t.same(findings('fn f(a: any) { a.live(1)\n str("") }'), [])
  t.end()
})

t.test('a record literal may begin with entries in short form', t => {
  t.same(
    findings('@table type Task { title: str done: bool }\nfn f(title: str) { db.Task.insert({ title, done: false }) }'),
    []
  )
  t.same(findings('fn f(a: int, b: int) to int { let r = { a, b, c: 1, "d": 2 }\n r.c }'), [])
  t.same(findings('type P { a: int b: int }\nfn f(a: int, b: int) to P { { a, b } }'), [], 'several names are a record')
  t.same(findings('fn f(a: int) to int { { a } }'), [], 'one name is a block')
  t.end()
})

t.test('struct literals are checked against their type', t => {
  const point = 'type Point { x: int y: float label: Option[str] z: int = 0 }\n'
  t.same(findings(`${point}fn f() to Point { Point { x: 1, y: 2 } }`), [])
  t.same(findings(`${point}fn f(x: int) to Point { Point { x: x, y: 2.5, label: None, z: 3 } }`), [])
  t.same(findings(`${point}fn f() to Point { Point { x: "a", y: 2 } }`), ['typecheck.arg_mismatch of "a"'])
  t.same(findings(`${point}fn f() to Point { Point { x: 1, yy: 2 } }`), [
    'typecheck.missing_field of Point',
    'typecheck.unknown_field of yy'
  ])
  const task = '@table type Task { title: str done: bool due: Option[str] rank: int = 0 }\n'
  t.same(findings(`${task}fn f() { db.Task.insert({ title: "a", done: false }) }`), [])
  t.match(diagnosticsOf(`${task}fn f() { db.Task.insert({ }) }`), [
    { severity: 'warning', message: '`title`, `done` of `Task` are missing', related: [{}, {}] }
  ])
  t.same(findings(`${task}fn f(row: any) { db.Task.insert(row)\n db.Task.update(1, { done: true }) }`), [])
  t.end()
})

t.test('assignments of another type and conditions that are not a bool are reported', t => {
  t.same(findings('fn f() { let mut a = 1.5\n a = 2\n a += 1 }'), [])
  t.same(findings('fn f() { let mut a = 1\n a = 2.5 }'), ['typecheck.assign_mismatch of 2.5'])
  t.same(findings('fn f() { let mut a = 1\n a += 2.5 }'), ['typecheck.assign_mismatch of 2.5'])
  t.same(findings('fn f() { let mut a = []\n a = [1]\n let mut o = None\n o = Some(1) }'), [])
  t.same(findings('fn f() { let mut r = Ok(1)\n r = Error("x") }'), [])
  t.same(findings('fn f() { let mut a: str = ""\n a = true }'), ['typecheck.assign_mismatch of true'])
  t.same(findings('actor A { state n: int = 0\n on go() { n = "x" } }'), ['typecheck.assign_mismatch of "x"'])
  t.same(findings('fn f(a: any, b: bool) { if a { }\n if b and a { }\n while not b { }\n if [1].is_empty() { } }'), [])
  t.same(findings('fn f(a: int) { while a { } }'), ['typecheck.condition of a'])
  t.same(findings('fn f(a: int) { match a { x if x => 1, _ => 2 } }'), ['typecheck.condition of x'])
  t.end()
})

t.test('uses of deprecated values, types, tables and actors are reported', t => {
  const source = `@deprecated @table type Old { a: int }
@deprecated actor Gone { on go() { } }
fn f(row: Old) {
    db.Old.all()
    spawn(Gone)
}
`
  t.same(findings(source).sort(), [
    'W092 of @deprecated',
    'W092 of @deprecated',
    'typecheck.deprecated_ident of Gone',
    'typecheck.deprecated_ident of Old',
    'typecheck.deprecated_ident of Old'
  ])
  t.same(
    findings('@deprecated type Tree { parts: List[Tree] }'),
    ['W092 of @deprecated'],
    'a deprecated type may refer to itself'
  )
  t.end()
})

t.test('invalid literal durations are reported, with a fix for common spellings', t => {
  const activity = 'activity a() to Result[int] { Ok(1) }\n'
  t.match(diagnosticsOf('@scheduled("5 minutes") fn tick() { }'), [
    {
      message: 'the schedule of `tick` is "5 minutes", which is not a duration',
      suggestions: [/500ms/],
      fixes: [{ replacement: '"5m"' }]
    }
  ])
  t.match(diagnosticsOf('@scheduled fn tick() { }'), [{ code: 'typecheck.duration', message: /has no interval/ }])
  t.same(findings('@scheduled(every = "soon") fn tick() { }'), ['typecheck.duration of "soon"'])
  t.same(findings('@scheduled(5) fn tick() { }'), ['typecheck.duration of 5'])
  const options = `${activity}workflow w() { a() with { timeout: "1 hour", initial_backoff: "5m", max_backoff: "x" } }`
  t.same(findings(options), ['typecheck.duration of "1 hour"', 'typecheck.duration of "x"'])
  t.same(findings('workflow w() { workflow_wait("x")\n workflow_wait("2m")\n workflow_wait(5) }'), [
    'typecheck.duration of "x"'
  ])
  t.same(
    findings(
      'fn g() { }\n@mutation fn m(wait: str) { run_later("soon", g())\n run_later("5m", g())\n run_later(wait, g()) }'
    ),
    ['typecheck.duration of "soon"']
  )
  t.same(findings('fn g() { }\nfn f() { "later" |> run_later(g())\n sleep(("1 s"))\n sleep(-5) }'), [
    'typecheck.duration of "later"',
    'typecheck.duration of "1 s"',
    'typecheck.duration of -5'
  ])
  t.same(findings('fn f(file: File) to str { std.files.url(file, "a while") }'), ['typecheck.duration of "a while"'])
  t.same(findings('fn sleep(for: str) { }\nfn f() { sleep("well") }'), [])
  t.end()
})

t.test('messages of conditions that are no literals, and negative options, are reported', t => {
  t.same(findings('@require(n > 0, "n is " + n) fn f(n: int) to int { n }'), ['typecheck.arg_mismatch of "n is " + n'])
  t.same(findings('@require(n > 0, "n must be positive") @ensure(result > 0) fn f(n: int) to int { n }'), [])
  t.same(findings('activity a() to Result[int] with { retries: -1 } { Ok(1) }'), ['typecheck.with.option_value of -1'])
  t.end()
})

t.test('functions and actors in JSON are reported', t => {
  const actor = 'actor A { on go() to int { 1 } }\ntype Job { name: str run: fn() to int }\ntype Box[T] { value: T }\n'
  const at = (source: string) => findings(actor + source)
  t.same(at('@mutation fn f(job: Job) to int { job.run() }'), ['typecheck.not_json of job'])
  t.same(at('@server fn f() to A { spawn(A) }'), ['typecheck.not_json of A'])
  t.same(at('@query fn f() { fn(n: int) n }'), ['typecheck.not_json of f'])
  t.same(at('@query fn f() to Box[Option[A]] { Box { value: None } }'), ['typecheck.not_json of Box[Option[A]]'])
  t.same(at('http get "/f" to Option[Job] { None }'), ['typecheck.not_json of Option[Job]'])
  t.same(at('activity f(a: A) to Result[int] { Ok(a.go()) }'), ['typecheck.not_json of a'])
  t.same(
    at(
      'fn f(job: Job, a: A) to int { job.run() + a.go() }\n@query fn g(box: Box[int]) to Result[Box[str]] { Error("no") }'
    ),
    []
  )
  t.end()
})

t.test('route paths that the router does not accept are reported, and unused path parameters', t => {
  const route = (path: string, rest: string): string => `http get "${path}"${rest}`
  const TEXT = ' to str { "" }'
  for (const path of ['/files/*/x', 'files', '/a?b=c', '/a#b', '/:a/:a']) {
    t.same(findings(route(path, TEXT)), [`typecheck.route.path of "${path}"`], path)
  }
  for (const path of ['/', '/files/*', '/:a/{b}', '/:a-:b', '/:a?', '/:a([a-z]*?)/b'])
    t.same(findings(route(path, TEXT)), [], path)
  t.match(diagnosticsOf(route('/x/:id', '(idd: int) to int { idd }')), [
    { severity: 'error', fixes: [{ replacement: '"/x/:idd"' }] }
  ])
  t.match(diagnosticsOf(route('/{lang}/:id', '(id: int) to int { id }')), [{ severity: 'warning', fixes: [] }])
  t.same(findings(route('/{lang}/:id', '(id: int) to str { lang }')), [])
  t.same(findings(route('/x/:id', '() to str { id }')), [])
  t.end()
})
