import t from 'tap'
import { type Declaration, type FunctionDeclaration, parse } from '#syntax'

function declarations(source: string, script = false): readonly Declaration[] {
  const { module, diagnostics } = parse(source, { script })
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('; '))
  return module.items
}

const one = (source: string): Declaration => declarations(source)[0] as Declaration
const fn = (source: string): FunctionDeclaration => one(source) as FunctionDeclaration

t.test('@query and @endpoint(kind: query) are the same declaration', async t => {
  for (const kind of ['query', 'mutation', 'server']) {
    const old = fn(`@${kind}\nfn f(a: int) to int { a }`)
    const young = fn(`@endpoint(kind: ${kind}) fn f(a: int) -> int { a }`)
    t.match(old, { role: kind, name: { text: 'f' }, result: { kind: 'NamedType' } })
    t.match(young, { role: kind, decorators: [{ name: { text: kind }, args: null }] })
  }
})

t.test('strings of tools and resources may follow the decorator or be in parentheses', async t => {
  t.match(fn('@mcp.tool "d" fn f() { 1 }'), { role: 'mcp.tool', roleDecorator: { strings: [{ value: 'd' }] } })
  t.match(fn('@tool("d") fn f() { 1 }'), { role: 'mcp.tool', roleDecorator: { args: [{ value: { value: 'd' } }] } })
  t.match(fn('@resource "u" "d" fn f() { 1 }'), {
    role: 'mcp.resource',
    roleDecorator: { name: { text: 'mcp.resource' } }
  })
})

t.test('decorators may be in any order, on one line or several, before or after pub', async t => {
  const names = ['deprecated', 'pure', 'require']
  const source = '@deprecated @pure\n@require(x > 0)\npub async fn f[T](x: int = 1, _) uses net, fs to T { x }'
  const found = fn(source)
  t.same(
    found.decorators.map(({ name }) => name.text),
    names
  )
  t.match(found, {
    isPublic: true,
    isAsync: true,
    generics: [{ text: 'T' }],
    effects: [{ text: 'net' }, { text: 'fs' }]
  })
  t.match(one('pub @table type T { a: int }'), { kind: 'Table', isPublic: true })
})

t.test('a function that a model implements needs no body', async t => {
  t.equal(fn('@ai fn f(x: str) to str').body, null)
  t.throws(() => fn('fn f(x: str) to str'), { message: /expected `{` before a block/ })
})

t.test('alternatives, records and aliases are parsed', async t => {
  t.match(one('type A[T] =\n | B(x: int, T)\n | C { y: str }\n | D'), {
    definition: {
      form: 'variants',
      variants: [
        { name: { text: 'B' }, fields: [{ name: { text: 'x' } }, { name: { text: '_1' } }], isRecord: false },
        { name: { text: 'C' }, isRecord: true },
        { name: { text: 'D' }, fields: [] }
      ]
    }
  })
  t.match(one('type A = B | C'), { definition: { form: 'variants' } })
  t.match(one('type A { x: int y: str = "a", @pii z: Option[str] }'), {
    definition: { form: 'struct', fields: [{}, { value: { value: 'a' } }, { decorators: [{}] }] }
  })
  t.match(one('type A = Map[str, fn(int) to (A, B)?]'), { definition: { form: 'alias' } })
})

t.test('types of every kind are parsed', async t => {
  const { params } = fn(
    'fn f(a: _, b: dec, c: (), d: (A, B), e: [T], g: Tensor[2], h: List<int>, i: T?, j: fn() to ()) { 1 }'
  )
  t.same(
    params.map(({ type }) => type?.kind),
    [
      ...['InferType', 'DecimalType', 'UnitType', 'TupleType', 'NamedType', 'NamedType', 'NamedType', 'OptionalType'],
      'FunctionType'
    ]
  )
  t.match(params[4], { type: { path: [{ text: 'List' }], args: [{ path: [{ text: 'T' }] }] } })
})

t.test('any word can be a column name, also in an index', async t => {
  t.match(one('@table type T { type: str state: int\n env: bool, in: int }'), {
    fields: ['type', 'state', 'env', 'in'].map(text => ({ name: { text } }))
  })
  t.match(one('@index T.i on (a, b)'), {
    variant: 'btree',
    table: { text: 'T' },
    columns: [{ text: 'a' }, { text: 'b' }]
  })
  t.match(one('@vector_index T.i on (a) with { dimensions: 3 }'), { variant: 'vector', options: { kind: 'Object' } })
})

t.test('routes, actors, workflows and activities are parsed', async t => {
  t.match(one('http delete "/a/:b"(b: int) to Result[Unit] { 1 }'), { method: 'delete', path: { value: '/a/:b' } })
  t.match(one('actor A(x: int) { state n: int = 0, m: str\n let mut k = 1\n on go(by: int) to int { n } }'), {
    members: [{ form: 'state' }, { form: 'plain' }, { form: 'let', isMutable: true }, { event: { text: 'go' } }]
  })
  t.match(one('workflow w(x: int) to Result[int] { a(x) with { retries: 2 } }'), { kind: 'Workflow' })
  t.match(one('activity a() to Result[int] with { retries: 2 } { Ok(1) }'), { options: { kind: 'Object' }, body: {} })
})

t.test('agents and environments are parsed', async t => {
  t.match(
    one(
      'agent A { version "1"\n name: str = "x"\n instructions: "do"\n tools: [a]\n on go() { 1 }\n migrate from "0" { 1 } }'
    ),
    {
      members: ['AgentVersion', 'StateField', 'AgentProperty', 'AgentProperty', 'Handler', 'Migration'].map(kind => ({
        kind
      }))
    }
  )
  t.match(one('environment e { base "x"\n packages ["a"]\n env K = "v"\n copy "a" to "b"\n cmd ["x"]\n run "y" }'), {
    kind: 'Environment',
    items: [{ key: 'base' }, { key: 'packages' }, { name: { text: 'K' } }, { to: { value: 'b' } }, { key: 'cmd' }, {}]
  })
})

t.test('components have members, styles and a view', async t => {
  const source = `@component component C(a: int) {
    state s: int = 0
    derived d = s + 1
    effect depends_on(s, d): print(s)
    on mount: { s = 1 }
    cleanup: print("bye")
    let x = 1
    view: <div/>
  }
  style { .card-title { color: "red", background-color: "blue" } }`
  t.match(one(source), {
    members: ['State', 'Derived', 'Effect', 'Lifecycle', 'Lifecycle', 'Let', 'View'].map(kind => ({ kind })),
    styles: [
      { rules: [{ className: { text: 'card-title' }, properties: [{}, { name: { text: 'background-color' } }] }] }
    ]
  })
})

t.test('islands, v0 components, client routes and other interface declarations are parsed', async t => {
  const source = `@island I { a: int b?: str }
  @island fn Legacy() to Element { <a/> }
  @v0 "id" V { a: int }
  @v0 from "./v.tsx" W { }
  routes { "/" to A with (loader: l, pending: P) { "b" to B } not_found: N error: E }
  pub url U { home, task(id: int, ?tab: str) }
  pub partial state_machine S { state A, terminal state B(x: int) on go(y: int) from A -> B(y) on stop from any -> A }
  fragment F(x: int) { <p>{x}</p> }
  @form G { field name: str required() max(3) on_submit: save }
  @push Token { key: "a" }
  extern fn now() to int = "Date.now"
  const LIMIT: int = 3`
  t.same(
    declarations(source).map(({ kind }) => kind),
    [
      'Island',
      'Function',
      'V0',
      'V0',
      'Routes',
      'Url',
      'StateMachine',
      'Fragment',
      'Form',
      'AppHook',
      'ExternFunction',
      'Const'
    ]
  )
})

t.test('imports of paths, crates and modules are parsed', async t => {
  t.match(one('import std.fs, a/b as { c as d, e }, rust:x(version: "1") as y, react Z from "./z"'), {
    items: [
      { path: [{ text: 'std' }, { text: 'fs' }] },
      { separator: '/', members: [{ name: { text: 'c' }, alias: { text: 'd' } }, { alias: null }] },
      { crate: { text: 'x' }, metadata: [{ value: { value: '1' } }], alias: { text: 'y' } },
      { name: { text: 'Z' }, source: { value: './z' } }
    ]
  })
})

t.test('a script may have top-level statements next to declarations', async t => {
  const kinds = declarations('let x = 1\nfn f() { x }\nprint(f())\nfor i in [1] { i }\nx', true).map(({ kind }) => kind)
  t.same(kinds, ['ScriptStatement', 'Function', 'ScriptStatement', 'ScriptStatement', 'ScriptStatement'])
  t.throws(() => declarations('print(1)'), { message: /`print` cannot begin a declaration/ })
})

t.test('separators may be omitted if the syntax is unambiguous', async t => {
  t.match(one('fn f() { match x { A => 1 B(y) => y } }'), {
    body: { statements: [{ expression: { arms: [{}, { patterns: [{ name: { text: 'B' } }] }] } }] }
  })
})
