import t from 'tap'
import { type IrExpression, type IrModule, lower } from '#ir'
import { parse } from '#syntax'

function lowered(source: string): IrModule {
  const { module, diagnostics } = parse(source)
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(`${source}: ${errors[0]?.message}`)
  return lower(module, source)
}

/** Removes spans, which a separate test checks. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(item => !isSpan(item)).map(bare)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (key === 'span' ? [] : [[key, isSpan(inner) ? null : bare(inner)]]))
  )
}

function isSpan(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'start,end'
}

const TASKS = '@table type Task { title: str done: bool due: Option[str] }\n'

function expression(text: string): IrExpression {
  const [fn] = lowered(`${TASKS}fn f(a: int) { ${text} }`).functions
  const last = fn?.body.at(-1)
  if (last === undefined || !('Expr' in last)) throw new Error(`${text} is not an expression`)
  return last.Expr.expr
}

const shape = (text: string): unknown => bare(expression(text))
const a = { Ident: ['a'] }
const int = (value: number) => ({ IntLit: [value] })

t.test('every expression is lowered to its document node', t => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['1.5', { FloatLit: [1.5] }],
    ['1.50dec', { DecimalLit: ['1.50'] }],
    ['"x\\n"', { StringLit: ['x\n'] }],
    ['9223372036854775807', { IntLit: [9223372036854775807n] }],
    ['-9223372036854775808', { IntLit: [-9223372036854775808n] }],
    ['-1', { Unary: ['Neg', int(1)] }],
    ['not a', { Unary: ['Not', a] }],
    ['a != 1', { Binary: ['Isnt', a, int(1)] }],
    ['a |> str', { Pipe: [a, { Ident: ['str'] }] }],
    ['((a))', a],
    ['()', { TupleLit: [[]] }],
    ['(a, 1)', { TupleLit: [[a, int(1)]] }],
    ['[a]', { ListLit: [[a]] }],
    [
      '{ x: a, "y": 1 }',
      {
        ObjectLit: [
          [
            ['x', a],
            ['y', int(1)]
          ]
        ]
      }
    ],
    ['P { x: a }', { StructLit: { name: 'P', fields: [['x', a]] } }],
    [
      'print(a, sep = 1)',
      {
        Call: [
          { Ident: ['print'] },
          [
            { name: null, value: a },
            { name: 'sep', value: int(1) }
          ],
          false
        ]
      }
    ],
    ['a.f(1)', { MethodCall: [a, 'f', [{ name: null, value: int(1) }]] }],
    ['a.b.0', { FieldAccess: [{ FieldAccess: [a, 'b'] }, '0'] }],
    ['a[1]', { Index: [a, int(1)] }],
    ['a?', { Try: { target: a } }],
    ['spawn(A)', { Spawn: [{ Ident: ['A'] }] }],
    ['a with { retries: 1 }', { With: [a, { ObjectLit: [[['retries', int(1)]]] }] }],
    ['for x in a { x }', { For: ['x', a, { Block: [[{ Expr: { expr: { Ident: ['x'] } } }]] }] }],
    ['for _ in a 1', { For: ['_', a, int(1)] }],
    [
      'for (k, v), i in a 1',
      {
        ForEach: {
          binding: { Tuple: [[{ Ident: ['k'] }, { Ident: ['v'] }]] },
          index: 'i',
          iterable: a,
          key: null,
          body: int(1)
        }
      }
    ],
    [
      'if a { 1 } else if a { 2 }',
      { If: [a, [{ Expr: { expr: int(1) } }], [{ Expr: { expr: { If: [a, [{ Expr: { expr: int(2) } }], null] } } }]] }
    ],
    [
      'match a { 1 | -2 if a => 3, _ => return }',
      {
        Match: [
          a,
          [
            { pattern: { Or: [[{ Literal: [int(1)] }, { Literal: [int(-2)] }]] }, guard: a, body: int(3) },
            { pattern: { Wildcard: null }, guard: null, body: { Block: [[{ Return: { value: null } }]] } }
          ]
        ]
      }
    ],
    [
      '<a href="x" on/>',
      {
        JsxSelfClosing: {
          tag: 'a',
          attributes: [
            { name: 'href', value: { StringLit: ['x'] } },
            { name: 'on', value: { BoolLit: [true] } }
          ]
        }
      }
    ],
    ['<p>"x"</p>', { Jsx: { tag: 'p', attributes: [], children: [{ StringLit: ['x'] }] } }],
    ['<><p/></>', { JsxFragment: { children: [{ JsxSelfClosing: { tag: 'p', attributes: [] } }] } }]
  ]
  for (const [text, wanted] of cases) t.same(shape(text), wanted, text)
  t.same(shape('fn(x: int) to str x'), {
    Lambda: [[{ id: 3, name: 'x', type_ann: { Named: 'int' }, default: null }], { Named: 'str' }, { Ident: ['x'] }]
  })
  t.end()
})

t.test('compound assignments are expanded', t => {
  const [fn] = lowered(
    'fn f() { let mut (x, _): (int, dec) = (1, 2)\n x += 1\n while x < 3 { break }\n loop { continue }\n return x }'
  ).functions
  t.same(bare(fn?.body), [
    {
      Let: {
        pattern: { Tuple: [[{ Ident: ['x'] }, { Wildcard: null }]] },
        type_ann: { Tuple: [{ Named: 'int' }, 'Decimal'] },
        value: { TupleLit: [[int(1), int(2)]] },
        mutable: true
      }
    },
    { Assign: { target: { Ident: ['x'] }, value: { Binary: ['Add', { Ident: ['x'] }, int(1)] } } },
    { While: { condition: { Binary: ['Lt', { Ident: ['x'] }, int(3)] }, body: [{ Break: {} }] } },
    { Loop: { body: [{ Continue: {} }] } },
    { Return: { value: { Ident: ['x'] } } }
  ])
  t.end()
})

t.test('lowered types keep their spelling', t => {
  const [type] = lowered(
    'type T { a: list[str], b: Option[int], c: int?, d: fn(int) to Unit, e: unit, f: Tensor[2], g: (), h: _ }'
  ).types
  t.same(type?.fields, [
    ['a', { Generic: ['list', [{ Named: 'str' }]] }],
    ['b', { Generic: ['Option', [{ Named: 'int' }]] }],
    ['c', { Generic: ['Option', [{ Named: 'int' }]] }],
    ['d', { Function: [[{ Named: 'int' }], 'Unit'] }],
    ['e', { Named: 'unit' }],
    ['f', { Generic: ['Tensor', [{ Named: '2' }]] }],
    ['g', 'Unit'],
    ['h', { Named: '_' }]
  ])
  t.end()
})

t.test('chains on tables become operations with a plan', t => {
  const plan = (text: string) => {
    const found = expression(text)
    if (!('DbTableOp' in found)) throw new Error(`${text} is not an operation`)
    return found.DbTableOp
  }
  const predicate = (where: string) => plan(`db.Task.where(${where})`).plan.predicate
  t.match(plan('db.Task.insert({ title: "x", done: true })'), {
    table: 'Task',
    op: 'Insert',
    plan: { predicate: null }
  })
  t.match(plan('db.Task.find(1)'), { op: 'Get' })
  t.match(plan('db.Task.delete(1)'), { op: 'Delete' })
  t.match(plan('db.Task.update(1, { done: true })'), { op: 'Update', args: { length: 2 } })
  t.match(plan('db.Task.query("where 1")'), { op: 'UnsafeQueryRawClause' })
  t.match(plan('db.Task.filter({ done: true }).count()'), {
    op: 'Count',
    args: [{ name: 'done' }],
    plan: { predicate: { And: [{ Eq: { field: 'done' } }] } }
  })
  t.match(plan('db.Task.filter({ done: true }).all().order_by("title").order_by(title, "DESC").limit(a)'), {
    op: 'FilterRecord',
    order_by: ['title', false],
    limit: { Ident: ['a'] },
    plan: { has_limit: true, order_by: ['title', false] }
  })
  t.same(plan('db.Task.all().select("done", "_id", "title")').select_cols, ['_id', 'title', 'done'])
  t.same(plan('db.Task.all().sync().using("search").live("t").scope("s")').plan.capabilities, {
    requires_sync: true,
    emits_change_log: true,
    live_topic: 't',
    retrieval_mode: 'Fts',
    orchestration_scope: 's'
  })
  t.same(predicate('{ title: "x" }'), { Eq: { field: 'title' } })
  t.same(predicate('{ title: { ne: "x", contains: "y" } }'), {
    And: [{ Neq: { field: 'title' } }, { Contains: { field: 'title' } }]
  })
  t.same(predicate('{ due: { is_null: false } }'), { Not: { IsNull: { field: 'due' } } })
  t.same(predicate('{ title: { in: ["a", "b"] } }'), { In: { field: 'title', arity: 2 } })
  t.same(predicate('{ title: { in: a } }'), { In: { field: 'title', arity: null } })
  t.same(predicate('{ or: [{ done: true }, { not: { title: "x" } }] }'), {
    Or: [{ Eq: { field: 'done' } }, { Not: { Eq: { field: 'title' } } }]
  })
  const { args } = plan(
    'db.Task.where({ or: [{ title: { in: ["a", "b"] } }, { due: { is_null: true } }], done: false })'
  )
  t.same(bare(args), [
    { name: 'title', value: { StringLit: ['a'] } },
    { name: 'title', value: { StringLit: ['b'] } },
    { name: 'done', value: { BoolLit: [false] } }
  ])
  t.match(shape('db.Task.all().map(f)'), { MethodCall: [{ DbTableOp: { op: 'All' } }, 'map'] })
  t.match(shape('db.query("select 1")'), { MethodCall: [{ Ident: ['db'] }, 'query'] })
  t.end()
})

t.test('each declaration is only in the array of its role', t => {
  const module = lowered(`import std.fs, rust:serde(version: "1", branch: "x") as sd, a/b as { C, D as E }
type Shape = | Circle(r: float) | Empty
@table pub type Task { title: str }
@deprecated @pure pub async fn plain[T](x: T = 1) to T { x }
@scheduled("1h") fn tick() { }
@ensure(result > 0, "zero") fn sure() to int { 1 }
@llm(model: "m") fn ask(q: str) to str
@query fn q() to int { 1 }
@endpoint(kind: mutation) fn m() { }
@server fn s() { }
@mcp.tool "t: does" fn tool() { }
@mcp.resource("r://x", "d") fn resource() to str { "" }
@test fn quiet() { }
http put "/p/:id" to int { 1 }
actor Counter { state n: int = 0
 on inc(by: int) to int { n } }
workflow w() { }
activity act() to Result[int] with { retries: 1 } { Ok(1) }
agent Helper { version "2"
 notes: List[str]
 tools: ["a"]
 on ask(q: str) { q }
 migrate from "1" { 1 } }
`)
  const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name)
  t.same(names(module.functions), ['plain', 'tick', 'sure', 'ask'])
  t.match(module.functions[0], { is_async: true, is_pub: true, is_pure: true, is_deprecated: true, generics: ['T'] })
  t.equal(module.functions[1]?.schedule_interval, '1h')
  t.match(module.functions[2]?.postconditions, [{ condition: { Binary: ['Gt'] }, fallback: 'zero' }])
  t.match(module.functions[3], { is_llm: true, llm_model: 'm', body: [] })
  t.same(
    module.query_fns.map(each => each.route_path),
    ['/api/query/q']
  )
  t.same(
    module.mutation_fns.map(each => each.route_path),
    ['/api/mutation/m']
  )
  t.same(
    module.server_fns.map(each => each.route_path),
    ['/api/s']
  )
  t.match(module.mcp_tools, [{ description: 't: does', func: { name: 'tool' } }])
  t.match(module.mcp_resources, [{ uri: 'r://x', description: 'd', func: { name: 'resource' } }])
  t.match(module.routes, [{ method: 'Put', path: '/p/:id', route_contract: 'PUT /p/:id' }])
  t.match(module.actors, [{ name: 'Counter', handlers: [{ event_name: 'inc' }], state_fields: [{ name: 'n' }] }])
  t.match(module.activities, [{ name: 'act', options: { ObjectLit: [] } }])
  t.match(module.agents, [{ version: '2', state_fields: [{ name: 'notes' }], migrations: [{ from_version: '1' }] }])
  t.match(module.tables, [{ name: 'Task', is_pub: true, fields: [{ name: 'title' }] }])
  t.match(module.types, [
    { name: 'Shape', variants: [{ name: 'Circle', fields: [['r', { Named: 'float' }]] }, { name: 'Empty' }] }
  ])
  t.match(module.rust_imports, [{ crate_name: 'serde', alias: 'sd', version: '1', git: null, branch: 'x' }])
  t.same(
    module.imports.map(({ module_path, item }) => [...module_path, item].join('.')),
    ['std.fs', 'a.b.C', 'a.b.E']
  )
  t.end()
})

t.test('top-level statements of a script become its main function', t => {
  const source = 'let x = 1\nprint(x)\n'
  const { module } = parse(source, { script: true })
  const [main] = lower(module, source).functions
  t.match(main, { name: 'main', body: { length: 2 }, span: { start: 0, end: 18 } })
  t.end()
})

t.test('spans are byte offsets that exclude trailing white space', t => {
  const source = '// Grüße 🎉\nfn f() { "ü🎉" }\n'
  const bytes = Buffer.from(source)
  const [fn] = lowered(source).functions
  const text = ({ start, end }: { start: number; end: number }) => bytes.subarray(start, end).toString()
  t.equal(fn && text(fn.span), 'fn f() { "ü🎉" }')
  const [statement] = fn?.body ?? []
  t.equal(statement && 'Expr' in statement && text(statement.Expr.span), '"ü🎉"')
  t.end()
})

t.test('each definition has a different number', t => {
  const source = `${TASKS}fn f(a: int, b: int) { fn(c) c }\ntype T = | A\nworkflow w(d: int) { }`
  const ids: number[] = []
  JSON.stringify(lowered(source), (key, value) => {
    if (key === 'id') ids.push(value as number)
    return value as unknown
  })
  t.same(
    ids.sort((x, y) => x - y),
    [0, 1, 2, 3, 4, 5, 6, 7].slice(0, ids.length)
  )
  t.equal(ids.length, 8)
  t.end()
})
