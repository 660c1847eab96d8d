import t from 'tap'
import { check } from '#check'
import type { DiagnosticCode } from '#diagnostics'
import { parse } from '#syntax'

interface Case {
  readonly code: DiagnosticCode
  /** Programs with the diagnostic, each with the source at its span. */
  readonly raises: readonly (readonly [source: string, at: string])[]
  /** Similar programs without the diagnostic. */
  readonly clean: readonly string[]
}

const STEPS =
  'activity a() to Result[int] { Ok(1) } activity mesh_a() to Result[int] { Ok(1) } workflow w() to Result[int] { Ok(1) } '
const TASKS = '@table type Task { title: str done: bool due: Option[str] }\n'
const SHAPES = 'type Shape = | Circle(r: float) | Square(a: float) | Empty\n'

const body = (statements: string): string => `${TASKS}fn f(a: int) { ${statements} }`
const query = (statements: string): string => `${TASKS}@query fn q() to int { ${statements} }`

const CASES: readonly Case[] = [
  {
    code: 'typecheck.undefined',
    raises: [
      ['fn f() { count }', 'count'],
      ['fn f() { { let x = 1 } x }', 'x'],
      ['fn f() { helpr() } fn helper() { }', 'helpr'],
      ['fn f(o: Option[int]) { match o { Sum(x) => x, _ => 0 } }', 'Sum'],
      ['fn f() { let g = fn(x) x\n x }', 'x'],
      ['@require(n > 0) fn f(m: int) { m }', 'n'],
      ['component C() { view: <p>{missing}</p> }', 'missing']
    ],
    clean: [
      'fn f() { later() } fn later() { }',
      'fn f(a: int) { for x, i in [a] { print(x, i) } }',
      'fn f(o: Option[int]) { match o { Some(x) => x, None => 0 } }',
      '@ensure(result > a) fn f(a: int) to int { a + 1 }',
      'http get "/tasks/:id" to str { request.text() |> print\n id }',
      'component C(n: int) { state a: int = n\n derived b = a + 1\n view: <p on:click={fn(e) a}>{b}</p> }',
      'actor A { state n: int = 0\n on add(by: int) to int { n = n + by\n n } }',
      'let limit = 3\nfn f() { limit }',
      'fn f() { let x = 1\n let y = { x: x }\n y }',
      'import std.mobile\nfn f() { mobile.vibrate() }',
      'workflow w() { mesh_ping() }',
      'component C() { view: column(gap=1) { heading("a") } }',
      'activity a() to Result[int] { Ok(1) }\nworkflow w() { a() with { retries: 2 } }',
      body('db.Task.all().order_by(title).select(title, done)')
    ]
  },
  {
    code: 'typecheck.reserved_name',
    raises: [['fn f(db: int) { }', 'db']],
    clean: ['fn f(database: int) { }']
  },
  {
    code: 'typecheck.immutable_assign',
    raises: [
      ['fn f(a: int) { a = 2 }', 'a'],
      ['fn f() { let a = 1\n a += 2 }', 'a'],
      ['let limit = 3\nfn f() { limit = 4 }', 'limit'],
      ['component C() { state a = 1\n derived b = a\n on mount: { b = 2 }\n view: <p/> }', 'b']
    ],
    clean: [
      'fn f() { let mut a = 1\n a += 2 }',
      'component C() { state a = 1\n on mount: { a = 2 }\n view: <p/> }',
      'fn f() { let mut a = 1\n let g = fn() { a = 2 } }'
    ]
  },
  {
    code: 'typecheck.arity',
    raises: [
      ['fn g(a: int, b: int = 2) { } fn f() { g() }', 'g()'],
      ['fn g(a: int) { } fn f() { g(1, 2) }', 'g(1, 2)'],
      ['fn add(a: int) { } fn f() { add(b = 2) }', 'b'],
      ['fn g(a: int) { } fn f() { 1 |> g(2) }', 'g(2)'],
      [`${SHAPES}fn f() { Circle() }`, 'Circle()'],
      [`${SHAPES}fn f(s: Shape) { match s { Circle(a, b) => 1, _ => 2 } }`, 'Circle'],
      ['fn f() { len() }', 'len()'],
      [body('db.Task.get()'), 'get'],
      [body('db.Task.all(1)'), '1']
    ],
    clean: [
      'fn add(a: int, b: int = 2) { } fn f() { add(1)\n add(1, b = 3)\n 1 |> add(2)\n 1 |> add }',
      'fn g(a: int) { } fn f(g: fn(int, int) to int) { g(1, 2) }',
      `${SHAPES}fn f(s: Shape) { match s { Circle(_) => 1, _ => 2 } }`
    ]
  },
  {
    code: 'typecheck.deprecated_ident',
    raises: [['@deprecated fn old() { } fn f() { old() }', 'old']],
    clean: ['fn old() { } fn f() { old() }']
  },
  {
    code: 'W092',
    raises: [['@deprecated("use g") fn old() { }', '@deprecated("use g")']],
    clean: ['@pure fn old() { }']
  },
  {
    code: 'E0301',
    raises: [
      [`${SHAPES}fn f(s: Shape) { match s { Circle(r) => r } }`, 'match'],
      ['fn f(b: bool) { match b { true => 1 } }', 'match'],
      ['fn f(o: Option[int]) { match o { Some(x) => x } }', 'match'],
      ['fn f(n: int) { match n { 1 => 1, 2 => 2 } }', 'match'],
      [`${SHAPES}fn f(s: Shape) { match s { Circle(_) if true => 1, Square(_) => 2, Empty => 3 } }`, 'match'],
      [`${SHAPES}fn f(s: Option[Shape]) { match s { Some(Circle(_)) => 1, None => 3 } }`, 'match']
    ],
    clean: [
      `${SHAPES}fn f(s: Shape) { match s { Circle(r) => r, Square(a) | Empty => 1 } }`.replace(
        'Square(a) |',
        'Square(_) |'
      ),
      `${SHAPES}fn f(s: Shape) { match s { Circle(r) => r, other => 1 } }`,
      'fn f(r: Result[bool]) { match r { Ok(true) => 1, Ok(false) => 2, Err(e) => 3 } }',
      'fn f(n: int) { match n { 1 => 1, 2 => 2, _ => 3 } }'
    ]
  },
  {
    code: 'typecheck.match.divergent_wildcard',
    raises: [['fn f(b: bool) { match b { true => 1, false => 2, _ => 3 } }', '_']],
    clean: ['fn f(b: bool) { match b { true => 1, _ => 3 } }', 'fn f(n: int) { match n { 1 => 1, _ => 3 } }']
  },
  {
    code: 'typecheck.with.unknown_option',
    raises: [['activity a() to Result[int] { Ok(1) } workflow w() { a() with { retrys: 3 } }', 'retrys']],
    clean: ['activity a() to Result[int] { Ok(1) } workflow w() { a() with { retries: 3, timeout: "5s" } }']
  },
  {
    code: 'typecheck.with.option_type',
    raises: [
      ['activity a() to Result[int] { Ok(1) } workflow w() { a() with { retries: "3" } }', '"3"'],
      ['activity a() to Result[int] with { timeout: 5 } { Ok(1) }', '5']
    ],
    clean: ['activity a() to Result[int] { Ok(1) } workflow w(n: int) { a() with { retries: n } }']
  },
  {
    code: 'typecheck.with.misplaced_option',
    raises: [
      [`${STEPS}workflow v() { a() with { mens: "join" } }`, 'mens'],
      [`${STEPS}workflow v() { a() with { labels: ["gpu"] } }`, 'labels'],
      [`${STEPS}workflow v() { a() with { detach: true } }`, 'detach'],
      [`${STEPS}workflow v() { (a() with { retries: 1 }) with { detach: true } }`, 'detach'],
      [`${STEPS}fn f() { w() with { retries: 2 } }`, 'retries'],
      ['activity a() to Result[int] with { mens: "join" } { Ok(1) }', 'mens']
    ],
    clean: [
      `${STEPS}workflow v() { mesh_a() with { mens: "join", labels: ["gpu"], retries: 1 } }`,
      `${STEPS}fn f() { w() with { id: "a", detach: true } }`,
      'workflow v() { mesh_elsewhere() with { mens: "join" } }',
      'activity mesh_a() to Result[int] with { mens: "join" } { Ok(1) }'
    ]
  },
  {
    code: 'typecheck.with.option_value',
    raises: [
      [`${STEPS}workflow v() { mesh_a() with { mens: "jion" } }`, '"jion"'],
      [`${STEPS}workflow v() { a() with { meta: "urgent" } }`, '"urgent"']
    ],
    clean: [`${STEPS}workflow v(m: str) { a() with { meta: "planning" }\n a() with { meta: m } }`]
  },
  {
    code: 'vox/form/missing-label',
    raises: [
      ['@form F { field name: str }', 'name'],
      ['@form F { field name: str label("") }', 'label']
    ],
    clean: ['@form F { field name: str required label("Name") }']
  },
  {
    code: 'vox/prompt/invalid-stage',
    raises: [
      ['@prompt(stage = Planning) fn f() to str', 'Planning'],
      ['@prompt(stage: "planner") fn f() to str', '"planner"'],
      ['@prompt(stage = 3) fn f() to str', '3']
    ],
    clean: [
      '@prompt(stage = Judge) fn f() to str',
      '@prompt(stage: "Synthesis") fn f() to str',
      '@prompt fn f() to str'
    ]
  },
  {
    code: 'vox/subagent/chain-depth-exceeded',
    raises: [['@subagent(max_depth = 9) fn f() to str', '9']],
    clean: ['@subagent(policy = cap_chain, max_depth = 4) fn f() to str']
  },
  {
    code: 'vox/subagent/budget-exhausted-inline',
    raises: [['@subagent(budget_usd = -1) fn f() to str', '-1']],
    clean: ['@subagent(budget_usd = 0.5) fn f() to str']
  },
  {
    code: 'typecheck.with.not_record',
    raises: [['activity a() to Result[int] { Ok(1) } workflow w(o: any) { a() with o }', 'o']],
    clean: ['activity a() to Result[int] { Ok(1) } workflow w() { a() with {} }']
  },
  {
    code: 'typecheck.with.operand',
    raises: [
      ['fn a() to int { 1 } workflow w() { a() with { retries: 1 } }', 'a()'],
      ['workflow w(r: Result[int]) { r with { retries: 1 } }', 'r'],
      ['workflow w(r: any) { (r with { retries: 1 }) with { timeout: "1s" } }', 'r']
    ],
    clean: [
      'fn a() to Result[int] { Ok(1) } workflow w() { a() with { retries: 1 } }',
      'fn a() to Result[int] { Ok(1) } workflow w() { (a() with { retries: 1 }) with { timeout: "1s" } }'
    ]
  },
  {
    code: 'typecheck.actor.spawn_target',
    raises: [
      ['actor Counter { } fn f() { spawn(Countr) }', 'Countr'],
      ['fn g() { } fn f() { spawn(g) }', 'g'],
      ['fn f() { spawn(1 + 2) }', '1 + 2']
    ],
    clean: ['actor Counter { } fn f() { spawn(Counter) }']
  },
  {
    code: 'typecheck.import.alias_conflict',
    raises: [['import std.fs\nimport other.fs', 'fs']],
    clean: ['import std.fs\nimport other.fs as disk']
  },
  {
    code: 'typecheck.rust_import.unpinned',
    raises: [['import rust:serde', 'serde']],
    clean: ['import rust:serde(version: "1.0")']
  },
  {
    code: 'lint.query_not_readonly',
    raises: [
      [query('db.Task.delete(1)'), 'q'],
      [query('let f = fn() db.Task.insert({ title: "a", done: true })\n 1'), 'q'],
      [query('if true { match 1 { 1 => db.Task.update(1, { done: true }), _ => 2 } }'), 'q'],
      [query('db.Task.query("where 1")'), 'q'],
      [query('db.query("select 1")'), 'q'],
      [`${query('one()')}\nfn one() { two() }\nfn two() { one()\n db.Task.delete(1) }`, 'q'],
      [`${query('[1].map(one)')}\nfn one(n: int) { db.Task.delete(n) }`, 'q'],
      [`${query('m()')}\n@mutation fn m() to int { 1 }`, 'q']
    ],
    clean: [
      query('db.Task.filter({ done: true }).count()'),
      `${query('one()')}\nfn one() { db.Task.all() }`,
      `${TASKS}@mutation fn q() { db.Task.delete(1) }`
    ]
  },
  {
    code: 'lint.db_unsafe_query',
    raises: [
      [body('db.Task.query("where done = 1")'), 'db.Task.query("where done = 1")'],
      [body('db.query("select 1")'), 'db.query("select 1")']
    ],
    clean: [body('db.Task.filter({ done: true })')]
  },
  {
    code: 'typecheck.db.unknown_table',
    raises: [
      [body('db.Taks.all()'), 'Taks'],
      [body('db.task.all()'), 'task']
    ],
    clean: [body('db.Task.all().map(fn(t) t.title)')]
  },
  {
    code: 'typecheck.unknown_method',
    raises: [[body('db.Task.inser({ title: "a" })'), 'inser']],
    clean: [body('db.Task.insert({ title: "a", done: true })')]
  },
  {
    code: 'typecheck.db.unknown_field',
    raises: [
      [body('db.Task.filter({ titel: "a" })'), 'titel'],
      [body('db.Task.where({ or: [{ x: 1 }] })'), 'x'],
      [body('db.Task.all().order_by("x")'), '"x"'],
      [body('db.Task.all().select(title, x)'), 'x'],
      [body('db.Task.insert({ x: 1 })'), 'x'],
      [body('db.Task.update(1, { x: 1 })'), 'x'],
      [body('db.Task.filter({ x: 1 }).count()'), 'x']
    ],
    clean: [body('db.Task.where({ _id: { gt: 3 }, not: { due: { is_null: true } } }).order_by("_id")')]
  },
  {
    code: 'typecheck.db.unknown_operator',
    raises: [[body('db.Task.where({ title: { like: "a" } })'), 'like']],
    clean: [body('db.Task.where({ title: { contains: "a", ne: "b" }, due: { in: ["a"] } })')]
  },
  {
    code: 'typecheck.db.duplicate_select',
    raises: [[body('db.Task.all().select("title", "title")'), '"title"']],
    clean: [body('db.Task.all().select("title", "done")')]
  },
  {
    code: 'typecheck.db.empty_select',
    raises: [[body('db.Task.all().select()'), 'select']],
    clean: [body('db.Task.all().select(["title"])')]
  },
  {
    code: 'typecheck.db.modifier',
    raises: [
      [body('db.Task.get(1).limit(2)'), 'limit'],
      [body('db.Task.all().limit(2).count()'), 'count'],
      [body('db.Task.filter({})'), '{}'],
      [body('db.Task.where(a)'), 'a'],
      [body('db.Task.where({ title: { in: [] } })'), '[]'],
      [body('db.Task.all().using("magic")'), '"magic"'],
      [body('let x = db.Task'), 'db.Task'],
      [body('let x = db'), 'db']
    ],
    clean: [body('db.Task.all().order_by("title", "DESC").limit(a).sync().live("t").scope("s").using("search")')]
  },
  {
    code: 'typecheck.db.find_semantics',
    raises: [
      [body('db.Task.find()'), 'find'],
      [body('db.Task.find({ done: true })'), '{ done: true }'],
      [body('db.Task.find(fn(t) t.done)'), 'fn(t) t.done']
    ],
    clean: [body('db.Task.find(a)')]
  },
  {
    code: 'typecheck.db.deprecated_query',
    raises: [[body('db.query(Task)'), 'db.query(Task)']],
    clean: [body('db.Task.all()')]
  },
  {
    code: 'typecheck.db.type',
    raises: [[body('db.Task.where({ due: { is_null: "yes" } })'), '"yes"']],
    clean: [body('db.Task.where({ due: { is_null: false } })')]
  }
]

const found = (source: string) => {
  const { module, diagnostics } = parse(source)
  return [...diagnostics, ...check(module, { suppressHookLints: false })].map(({ code, span }) => ({
    code: code as string,
    at: source.slice(span.start, span.end)
  }))
}

for (const { code, raises, clean } of CASES) {
  t.test(`${code} is reported for these programs, and not for similar ones`, t => {
    for (const [source, at] of raises) {
      t.same(
        found(source).filter(each => each.code === code),
        [{ code, at }],
        source
      )
    }
    for (const source of clean) {
      const unexpected = found(source).filter(each => each.code === code || each.code === 'E0001')
      t.same(unexpected, [], source)
    }
    t.end()
  })
}

t.test('fixes turn an invalid program into a valid one', t => {
  for (const [wrong, right] of [
    ['fn f() { let a = 1\n a += 2 }', 'fn f() { let mut a = 1\n a += 2 }'],
    ['fn f() { helpr() } fn helper() { }', 'fn f() { helper() } fn helper() { }'],
    [body('db.query(Task)'), body('db.Task.all()')],
    ['fn f() { Speech.transcrbe("a") }', 'fn f() { Speech.transcribe("a") }'],
    ['fn f() { OpenClaw.subscrib("a") }', 'fn f() { OpenClaw.subscribe("a") }'],
    ['fn f() { std.agentos.mutation_kind_for_tol("a") }', 'fn f() { std.agentos.mutation_kind_for_tool("a") }'],
    ['@prompt(stage = Planer) fn f() to str', '@prompt(stage = Planner) fn f() to str'],
    ['@subagent(max_depth = 7) fn f() to str', '@subagent(max_depth = 4) fn f() to str'],
    ['@form F { field first_name: str required }', '@form F { field first_name: str label("First name") required }'],
    [
      `${STEPS}workflow v() { mesh_a() with { mens: "jion" } }`,
      `${STEPS}workflow v() { mesh_a() with { mens: "join" } }`
    ],
    [body('db.Task.all().order_by("titel")'), body('db.Task.all().order_by("title")')],
    [query('db.Task.delete(1)\n 1'), query('db.Task.delete(1)\n 1').replace('@query', '@mutation')]
  ] as const) {
    const { module } = parse(wrong)
    const [fix] = check(module, { suppressHookLints: false }).flatMap(({ fixes }) => fixes)
    if (fix === undefined) t.fail(`no fix for ${wrong}`)
    else t.equal(wrong.slice(0, fix.span.start) + fix.replacement + wrong.slice(fix.span.end), right)
    t.same(found(right), [], right)
  }
  t.end()
})

t.test('a declared name hides a namespace of that name', t => {
  t.same(found('fn f(Speech: any) to int { Speech.Low }'), [])
  t.end()
})

t.test('an undeclared name in a workflow is only a warning', t => {
  const source = 'workflow w() to Result[int] { check_inventory(1) }'
  const [only] = check(parse(source).module, { suppressHookLints: false })
  t.match(only, { code: 'typecheck.undefined', severity: 'warning' })
  t.end()
})

t.test('a non-exhaustive match reports the missing cases', t => {
  const missing = (source: string) =>
    check(parse(source).module, { suppressHookLints: false }).flatMap(({ missingCases }) => missingCases)
  t.same(missing(`${SHAPES}fn f(s: Shape) { match s { Circle(r) => r } }`), ['Square(_)', 'Empty'])
  t.same(missing(`${SHAPES}fn f(s: Option[Shape]) { match s { Some(Circle(_)) => 1, None => 3 } }`), [
    'Some(Square(_))',
    'Some(Empty)'
  ])
  t.end()
})
