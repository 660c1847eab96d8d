import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hir, Program } from '@svc/contracts'
import t from 'tap'
import { checkFile, hasErrors, programOf, SourceFile } from '#root'
import { bodiesOf } from './bodies.ts'
import { bodyText } from './code-text.ts'

const OPTIONS = { script: false, allowComponentFunctions: false, suppressHookLints: false }

const PRELUDE = `@table type Task { title: str done: bool due: Option[str] score: float = 1.0 }
type Point { x: int = 1 y: float = 2.0 tag: Option[str] }
type Shape = | Circle(r: float) | Square { side: int } | Dot
fn add(a: int, b: int = 2) to int { return a + b }
`

function programFrom(source: string, script = false): Program {
  const checked = checkFile(new SourceFile('program.vox', source), { ...OPTIONS, script })
  const errors = checked.diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(`${source}: ${errors[0]?.code} ${errors[0]?.message}`)
  return programOf(checked)
}

function codeOf(source: string, name = 'f'): Hir.Body {
  const { module } = programFrom(PRELUDE + source)
  const all = [...module.functions, ...module.query_fns, ...module.mutation_fns, ...module.server_fns]
  const found = all.find(each => each.name === name)
  if (found === undefined) throw new Error(`${source}: there is no function ${name}`)
  return found.code
}

/** The code of statements in a function without parameters. */
const inside = (statements: string): string => bodyText(codeOf(`fn f() { ${statements} }`)).slice('() { '.length, -2)

t.test('values and operators', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['print(1, 1.5, 2.50dec, "a", true, Unit, ())', 'native.print(1, 1.5f, 2.50dec, "a", true, (), ())'],
    ['print(-9223372036854775808, 9007199254740993)', 'native.print(-9223372036854775808n, 9007199254740993n)'],
    ['print([1, 2], (1, "a"), { a: 1 })', 'native.print([1, 2], tuple(1, "a"), { a: 1 })'],
    [
      'print(1 + 2 * 3, not true, -(1), 1 < 2, 1 is 2)',
      'native.print((1 add (2 mul 3)), not(true), neg(1), (1 lt 2), (1 is 2))'
    ],
    ['print(true and false or true)', 'native.print(((true and false) or true))'],
    ['print(None, Some(1), Dot, Square { side: 2 })', 'native.print(None(), Some(1), Dot(), Square(2))'],
    ['let xs = [1].map(str)', 'let xs%0: List[str] = [1] native.List.map(native.str)'],
    ['let xs = [1].map(Some)', 'let xs%0: List[Option[int]] = [1] native.List.map(constructor.Some)'],
    ['let g = add', 'let g%0: fn(int, int) int = fn.add'],
    ['let m: Map[str, int] = { a: 1 }', 'let m%0: Map[str, int] = map { a: 1 }'],
    ['let mut m = {}\n m = m.set("a", 1)', 'let mut m%0: Map[str, int] = map {  }; %0 = %0 native.Map.set("a", 1)'],
    ['print([1][0], (1, "a").1, { a: 1 }.a)', 'native.print([1][0], tuple(1, "a").1, { a: 1 }.a)']
  ]
  for (const [source, code] of cases) t.equal(inside(source), code, source)
})

t.test('conversions are nodes where a value changes, and nowhere else', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['let x: float = 1', 'let x%0: float = 1f'],
    ['let n = 1\n let x: float = n', 'let n%0: int = 1; let x%1: float = float(%0)'],
    ['let x: dec = 1.50', 'let x%0: dec = 1.50dec'],
    ['let p: Point = { x: 1, y: 2, tag: "a" }', 'let p%0: Point = Point { x: 1, y: 2f, tag: Some("a") }'],
    ['let p = Point { }', 'let p%0: Point = Point {  }'],
    [
      'let r = { x: 1, y: 1.0 }\n let p: Point = r',
      'let r%0: { x: int, y: float } = { x: 1, y: 1f }; let p%1: Point = struct Point(%0)'
    ],
    ['let j: any = 1\n let n: int = j', 'let j%0: any = 1; let n%1: int = checked int(%0)'],
    ['let j: any = 1\n let k: any = j', 'let j%0: any = 1; let k%1: any = %0'],
    [
      'let j: List[any] = [1]\n let n: List[int] = j',
      'let j%0: List[any] = [1]; let n%1: List[int] = checked List[int](%0)'
    ],
    ['let n: int = if true { 1 } else { 2 }', 'let n%0: int = if true { 1 } else { 2 }'],
    ['let n: float = if true { 1 } else { 2.5 }', 'let n%0: float = if true { 1f } else { 2.5f }'],
    ['let xs = [1, 2.5]', 'let xs%0: List[float] = [1f, 2.5f]']
  ]
  for (const [source, code] of cases) t.equal(inside(source), code, source)
})

t.test('calls have their arguments in source order, with the parameter of each', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['print(add(1), add(b=1, a=2))', 'native.print(add(1), add(#1 1, #0 2))'],
    ['print(3 |> add(b=4), 5 |> add, 1 |> str)', 'native.print(add(3, 4), add(5), native.str(1))'],
    ['print([2] |> len, "a" |> "b".contains)', 'native.print(native.len([2]), "b" native.str.contains("a"))'],
    [
      'let plus = fn(a: int, b: int) a + b\n plus(b=1, a=2)',
      'let plus%2: fn(int, int) int = fn(a%0: int, b%1: int) (%0 add %1); call %2(#1 1, #0 2)'
    ],
    ['print(fs.exists("a"), std.math.pi())', 'native.print(native.std.fs.exists("a"), native.std.math.pi())'],
    [
      'print([1].to_str(), (1, 2).to_str(), "a".len())',
      'native.print([1] native.any.to_str(), tuple(1, 2) native.any.to_str(), "a" native.str.len())'
    ],
    ['let j: any = 1\n j.get("a")', 'let j%0: any = 1; %0 dynamic.get("a")'],
    ['mesh_ping(1)', 'call ?mesh_ping(1)'],
    ['print(Ok(), Circle(2))', 'native.print(Ok(()), Circle(2f))']
  ]
  for (const [source, code] of cases) t.equal(inside(source), code, source)
})

t.test('variables have numbers, and lambdas name what they capture', async t => {
  t.equal(
    inside('let mut n = 0\n let g = fn(x: int) fn(y: int) x + y + n\n n += 1'),
    'let mut n%0^: int = 0; let g%3: fn(int) fn(int) int = fn(x%1^: int) captures %0 fn(y%2: int) captures %0 %1 ((%1 add %2) add %0); %0 add= 1'
  )
  t.equal(
    inside('let x = 1\n if true { let x = "a"\n print(x) }\n print(x)'),
    'let x%0: int = 1; if true { let x%1: str = "a"; native.print(%1) }; native.print(%0)',
    'an inner variable has its own number'
  )
  t.equal(
    inside('for (k, v), i in [(1, "a")] { print(k, v, i) }'),
    'for (k%0: int, v%1: str), i%2: int in [tuple(1, "a")] { native.print(%0, %1, %2) }'
  )
})

t.test('assignments name a place, with each index once', async t => {
  t.equal(
    inside('let mut xs = [[1]]\n xs[add(1)][0] += 2\n xs = [[3]]'),
    'let mut xs%0: List[List[int]] = [[1]]; %0[add(1)][0] add= 2; %0 = [[3]]'
  )
  t.equal(inside('let mut p = Point { }\n p.x -= 1'), 'let mut p%0: Point = Point {  }; %0.x sub= 1')
})

t.test('alternatives of a pattern bind the same variables', async t => {
  t.equal(
    bodyText(
      codeOf(
        'fn f(x: Option[(int, float)]) to int { return match x { Some((n, 1)) | Some((n, 2.5)) if n > 1 => n  Some(_) => 2  None => 0 } }'
      )
    ),
    '(x%0: Option[(int, float)]) { return match %0 { Some((n%1: int, 1f)) | Some((n%1: int, 2.5f)) if (%1 gt 1) -> %1; Some(_) -> 2; None() -> 0 } }'
  )
})

t.test('operations of the database keep their Result where one is used', async t => {
  const insert = 'db.Task.insert({ title: "a", done: true })'
  const lowered = 'Task { title: "a", done: true }'
  t.equal(
    bodyText(codeOf(`fn f() to int { let id = ${insert}\n return id }`)),
    `() { let id%0: Id[Task] = db.Task.Insert(${lowered}); return %0 }`,
    'a variable whose Result is not used holds the value'
  )
  t.equal(
    bodyText(
      codeOf(`fn f() to int { let r = ${insert}\n match r { Ok(_) => print(1) Error(e) => print(e) }\n return r }`)
    ),
    `() { let r%0: Result[Id[Task], str] = db?.Task.Insert(${lowered}); match %0 { Ok(_) -> native.print(1); Error(e%1: str) -> native.print(%1) }; return unwrap(%0) }`,
    'other uses of such a variable take its value'
  )
  t.equal(
    bodyText(codeOf(`fn f() to Result[int] { let id = ${insert}?\n return ${insert} }`)),
    `() { let id%0: Id[Task] = db?.Task.Insert(${lowered})?; return db?.Task.Insert(${lowered}) }`
  )
  t.equal(
    bodyText(codeOf(`fn f() to int { return ${insert}? }`)),
    `() { return db.Task.Insert(${lowered}) }`,
    'a function that cannot return the failure throws it'
  )
  t.equal(
    bodyText(codeOf('fn f() to bool { return db.Task.get(1).is_ok() }')),
    '() { return db?.Task.Get(1) native.Result.is_ok() }'
  )
  t.equal(
    bodyText(codeOf('fn f() to List[Task] { return db.Task.where({ score: { gt: 1 } }).order_by("title").limit(2) }')),
    '() { return db.Task.FilterRecord(score: 1f, limit 2) }'
  )
  t.equal(
    bodyText(codeOf('fn f() to List[Task] { return db.query("SELECT * FROM Task", []) }')),
    '() { return checked List[Task](sql("SELECT * FROM Task", [])) }'
  )
  t.equal(
    inside('let t = db.Task.all().first()\n print(t.unwrap().id)').split('; ')[1],
    'native.print(%0 native.Option.unwrap()._id)'
  )
})

t.test('requests, routes and conditions', async t => {
  t.equal(
    bodyText(codeOf('@server fn f() to str { return request.method() }')),
    '() { return request native.Request.method() }'
  )
  t.equal(
    bodyText(codeOf('fn request() to int { return 1 }\n@server fn f() to int { return request() }')),
    '() { return request() }',
    'the name of the program wins'
  )
  const { module, conditions } = programFrom(`http get "/a/{id}" to str { return request.method() + id }
@require(a > 0) @ensure(result > a) fn f(a: int) to int { return a + 1 }`)
  t.same(
    module.routes.map(({ code }) => bodyText(code)),
    ['(id%0: any, request%1: any) { return (request native.Request.method() add %0) }']
  )
  t.same(
    conditions.map(({ code }) => bodyText(code)),
    ['(a%0: int) { (%0 gt 0) }', '(a%0: int) { (%1 gt %0) }']
  )
})

t.test('actors, activities and workflows', async t => {
  const { module } = programFrom(`actor Counter(start: int) {
  state n: int = start
  state k: int
  on add(by: int = 1) to int { n += by
    k = start
    return n }
}
fn f() { let c = spawn(Counter(1))
  print(c.add(by=3))
  c.send("add", 4) }
activity pay(n: int) to Result[int] with { retries: 2 } { return Ok(n) }
workflow w(n: int) to Result[int] { return pay(n) with { retries: 3 } }`)
  const [actor] = module.actors
  t.equal(bodyText(actor?.code as Hir.Body), '(start%0: int) { state.n = %0 }')
  t.equal(
    bodyText(actor?.handlers[0]?.code as Hir.Body),
    '(by%0: int = 1) { state.n add= %0; state.k = state.start; return state.n }'
  )
  t.equal(
    bodyText(module.functions[0]?.code as Hir.Body),
    '() { let c%0: Counter = spawn Counter(1); native.print(%0 ask Counter.add(3)); %0 send Counter.add(4) }'
  )
  t.equal(bodyText(module.activities[0]?.optionsCode as Hir.Body), '(n%0: int) { { retries: 2 } }')
  t.equal(bodyText(module.workflows[0]?.code as Hir.Body), '(n%0: int) { return pay(%0) with { retries: 3 } }')
})

t.test('constants, defaults, tests and scripts', async t => {
  const { constants, defaults, tests } = programFrom(`${PRELUDE}let (low, high) = (1, 2.5)
@test fn works() { assert(low < high) }`)
  t.same(constants.map(bodyText), ['() { let (low%0: int, high%1: float) = tuple(1, 2.5f) }'])
  t.same(
    defaults.map(({ field, code }) => [field, bodyText(code)]),
    [
      ['x', '() { 1 }'],
      ['y', '() { 2f }']
    ]
  )
  t.same(
    tests.map(({ code }) => bodyText(code)),
    ['() { native.assert((const.low lt const.high)) }']
  )
  const script = programFrom('let n = 1\nprint(n)', true)
  t.same(
    script.module.functions.map(({ name, code }) => [name, bodyText(code)]),
    [['main', '() { let n%0: int = 1; native.print(%0) }']]
  )
})

t.test('elements, also those that are written as calls', async t => {
  t.equal(
    bodyText(codeOf('fn f(a: str) to Element { return <div class="x">{a}<br/></div> }')),
    '(a%0: str) { return <div class="x"> [%0, <br/>]> }'.replace('"x"> [', '"x" [')
  )
})

t.test('all examples and all programs of the documentation are lowered', async t => {
  const root = new URL('../../../../', import.meta.url).pathname
  const sources: [string, string][] = []
  for (const name of readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.vox') || name.includes('node_modules')) continue
    sources.push([name, readFileSync(join(root, 'examples', name), 'utf8')])
  }
  for (const name of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.md')) continue
    const blocks = readFileSync(join(root, 'docs', name), 'utf8').matchAll(/^```vox\n([\s\S]*?)^```$/gm)
    for (const [index, [, source = '']] of [...blocks].entries()) sources.push([`${name} ${index + 1}`, source])
  }
  t.ok(sources.length > 20)
  for (const [place, source] of sources) {
    const checked = [false, true]
      .map(script => checkFile(new SourceFile(place, source), { ...OPTIONS, script }))
      .find(({ diagnostics }) => !hasErrors(diagnostics))
    if (checked === undefined) continue
    const program = programOf(checked)
    const types = new Set<Hir.Type>()
    for (const body of bodiesOf(program)) {
      t.same(problemsOf(body, types), [], place)
    }
    t.equal(
      new Set([...types].map(type => JSON.stringify(type))).size,
      types.size,
      `${place}: equal types are one object`
    )
  }
})

/** Returns variables that are out of range, or used before they are declared; adds all types. */
function problemsOf(body: Hir.Body, types: Set<Hir.Type>): string[] {
  const problems: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const each of value) visit(each)
      return
    }
    const node = value as Record<string, unknown>
    if (node.type !== undefined) types.add(node.type as Hir.Type)
    if ('local' in node && !(Number(node.local) < body.locals.length)) problems.push(`variable ${node.local}`)
    for (const [key, inner] of Object.entries(node)) if (key !== 'type') visit(inner)
  }
  for (const { type } of body.locals) types.add(type)
  visit(body.block)
  for (const param of body.params) if (param >= body.locals.length) problems.push(`parameter ${param}`)
  if (body.params.length !== body.defaults.length) problems.push('defaults')
  return problems
}
