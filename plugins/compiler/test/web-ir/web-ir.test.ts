import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { irDocument, printIr } from '#root'
import { parse } from '#syntax'
import type { WebIr } from '#web-ir'

const examples = new URL('../../../../examples/language/', import.meta.url)
const schemas = new URL('../../../../contracts/ir/', import.meta.url)
const schema = (name: string): object => JSON.parse(readFileSync(new URL(name, schemas), 'utf8'))
const validate = new Ajv2020().compile(schema('web-ir.schema.json'))

function webIr(source: string): WebIr | null {
  const { module, diagnostics } = parse(source)
  if (diagnostics.some(({ severity }) => severity === 'error')) throw new Error(diagnostics[0]?.message)
  return JSON.parse(printIr(irDocument(module, source, new Date(0)))).module.web_ir
}

function found(source: string): WebIr {
  const ir = webIr(source)
  if (ir === null) throw new Error('there is no web IR')
  if (!validate(ir)) throw new Error(JSON.stringify(validate.errors))
  return ir
}

/** Counts nodes, views, behaviours, routes and jobs. */
const sizes = (source: string): number[] => {
  const { dom_nodes, view_roots, behavior_nodes, route_nodes, scheduled_jobs } = found(source)
  return [dom_nodes, view_roots, behavior_nodes, route_nodes, scheduled_jobs].map(({ length }) => length)
}

const COUNTER = `component Counter(first: int) {
    state count: int = first
    derived double = count * 2
    effect: { print(count) }
    effect depends_on(double): { print(double) }
    on mount: { print("here") }
    on cleanup: { print("gone") }
    view: <div class="counter">
        <h1>"Count: {count}"</h1>
        <button on:click={count += 1}>"+"</button>
        {double}
        {if count > 3 { <b>"many"</b> }}
    </div>
}
`

t.test('a module without views and endpoints has no web IR', t => {
  t.equal(webIr('fn main() { print("x") }\ntype A { b: int }\nactor B { on c() to int { 1 } }\n'), null)
  t.end()
})

t.test('the keys of the web IR are in a fixed order', t => {
  const order =
    'dom_nodes view_roots behavior_nodes style_nodes route_nodes scheduled_jobs interop_nodes diagnostic_nodes spans version'
  t.equal(Object.keys(found(COUNTER)).join(' '), order)
  t.match(found(COUNTER), { spans: { spans: [] }, version: 'V0_1' })
  t.end()
})

t.test('children precede their parent node', t => {
  const { dom_nodes, view_roots } = found(COUNTER)
  t.same(view_roots, [['Counter', 6]])
  t.same(dom_nodes, [
    { Text: { content: 'Count: {count}', span: null } },
    { Element: { id: 1, tag: 'h1', attrs: [], children: [0], span: null } },
    { Text: { content: '+', span: null } },
    {
      Element: { id: 3, tag: 'button', attrs: [['onClick', '() => set_count(count + 1)']], children: [2], span: null }
    },
    { Expr: { ts: 'double', span: null } },
    { Expr: { ts: 'count > 3 ? <b>many</b> : null', span: null } },
    { Element: { id: 6, tag: 'div', attrs: [['className', '"counter"']], children: [1, 3, 4, 5], span: null } }
  ])
  t.end()
})

t.test('behaviours are prefixed with their component, in source order', t => {
  t.same(found(COUNTER).behavior_nodes, [
    { StateDecl: { name: 'Counter::count', initial: 'first', optionality: 'Required', span: null } },
    { DerivedDecl: { name: 'Counter::double', expr: 'count * 2', span: null } },
    { EffectDecl: { deps: [], body: 'console.log(count)', span: null } },
    { EffectDecl: { deps: ['Counter::double'], body: 'console.log(double)', span: null } },
    { EffectDecl: { deps: ['Counter::mount'], body: "console.log('here')", span: null } },
    { EffectDecl: { deps: ['Counter::cleanup'], body: "console.log('gone')", span: null } }
  ])
  t.end()
})

t.test('an island becomes a mount point with properties and a count of its children', t => {
  const source =
    '@island Chart { values: List[int] title: str }\ncomponent A() { view: <Chart values={[1]} title="x">"a" "b"</Chart> }'
  t.same(found(source).dom_nodes, [
    {
      IslandMount: {
        island_name: 'Chart',
        props: [
          ['data-prop-values', 'JSON.stringify([1])'],
          ['data-prop-title', '"x"']
        ],
        ignored_child_count: 2,
        span: null
      }
    }
  ])
  t.end()
})

t.test('bind becomes a value and a change handler', t => {
  const { dom_nodes } = found('component A() { state x: str = "" view: <input bind={x}/> }')
  t.match(dom_nodes, [
    {
      Element: {
        attrs: [
          ['value', 'x'],
          ['onChange', 'event => set_x(event.target.value)']
        ]
      }
    }
  ])
  t.end()
})

t.test('values in style rules are typed', t => {
  const source = `component A() { view: <p/> }
style { .box { max_width: "40rem" color: "#fff" background: "var(--card-color)" margin: "0 auto" display: "flex" opacity: "0.5" gap: "var(--gap)" border-color: "red" } }`
  t.same(found(source).style_nodes, [
    {
      Rule: {
        selector: { Class: 'box' },
        declarations: [
          ['max-width', { Length: [40, 'Rem'] }],
          ['color', { Color: { Hex: '#fff' } }],
          ['background', { Color: { Var: '--card-color' } }],
          ['margin', { Raw: '0 auto' }],
          ['display', { Keyword: 'flex' }],
          ['opacity', { Number: 0.5 }],
          ['gap', { TokenRef: '--gap' }],
          ['border-color', { Color: { Named: 'red' } }]
        ],
        specificity: [0, 1, 0],
        span: null
      }
    }
  ])
  t.end()
})

t.test('routes are ordered: pages, server routes, functions, queries, mutations', t => {
  const source = `
@mutation fn add(title: str, done: bool) to Result[int] { Ok(1) }
@mutation fn clear() to Unit { print("x") }
@query fn list(limit: int, by: Option[str]) to List[str] { [] }
@server fn ping(x: dec) to Map[str, float] { {} }
http get "/" to str { "x" }
http post "/a/:id-b" to List[int] { [] }
component A() { view: <p/> }
routes {
    "/" to A with (loader: list, pending: A) { "/b" to A { "/c" to A } "/d" to A }
    "/e" to A
    not_found: A
}`
  t.same(found(source).route_nodes, [
    {
      RouteTree: {
        routes: [
          {
            id: 'route_0',
            pattern: '/',
            meta: { component: 'A', loader: 'list', pending: 'A' },
            children: [
              {
                id: 'route_0_c0',
                pattern: '/b',
                meta: { component: 'A' },
                children: [{ id: 'route_0_c0_c0', pattern: '/c', meta: { component: 'A' } }]
              },
              { id: 'route_0_c1', pattern: '/d', meta: { component: 'A' } }
            ]
          },
          { id: 'route_1', pattern: '/e', meta: { component: 'A' } }
        ],
        span: null
      }
    },
    {
      LoaderContract: {
        route_id: 'http_0_root',
        contract: '{"kind":"http","method":"GET","path":"/","return_type":"string","route_contract":"GET /"}',
        span: null
      }
    },
    {
      LoaderContract: {
        route_id: 'http_1__a__id_b',
        contract:
          '{"kind":"http","method":"POST","path":"/a/:id-b","return_type":"List<number>","route_contract":"POST /a/:id-b"}',
        span: null
      }
    },
    {
      ServerFnContract: {
        name: 'ping',
        export_path: '/api/ping',
        signature: '(x: string) -> Map<string, number>',
        span: null
      }
    },
    {
      ServerFnContract: {
        name: 'list',
        export_path: '/api/query/list',
        signature: '(limit: number, by: Option<string>) -> List<string>',
        span: null
      }
    },
    { MutationContract: { name: 'add', payload_type: 'title: string', span: null } },
    { MutationContract: { name: 'clear', payload_type: 'void', span: null } }
  ])
  t.end()
})

t.test('scheduled functions become jobs, and TypeScript imports interop nodes', t => {
  const ir = found(`
import react Chart from "./chart"
@scheduled("1h") fn tick() to Unit { print("x") }
@v0 "abc" Card { title: str n?: int }
extern fn now() to int = "./time"
`)
  t.same(ir.scheduled_jobs, [{ name: 'tick', interval: '1h' }])
  t.same(ir.interop_nodes, [
    { ReactComponentRef: { component: 'Chart', import_source: './chart', props: [], span: null } },
    {
      ReactComponentRef: {
        component: 'Card',
        import_source: 'abc',
        props: [
          ['title', 'string'],
          ['n', 'number']
        ],
        span: null
      }
    },
    { ExternalModuleRef: { specifier: './time', named: ['now'], span: null } }
  ])
  t.end()
})

t.test('small programs have the expected numbers of nodes', t => {
  t.same(
    sizes(
      '@query fn a() to int { 1 }\n@query fn b() to int { 1 }\n@mutation fn c() to int { 1 }\nhttp get "/x" to int { 1 }'
    ),
    [0, 0, 0, 4, 0]
  )
  t.same(sizes('@server fn a() to int { 1 }\ncomponent A() { view: <p>"x"</p> }'), [2, 1, 0, 1, 0])
  t.same(sizes('component A() { view: <div><h1>"a"</h1></div> }\nroutes { "/" to A }'), [3, 1, 0, 1, 0])
  t.same(
    sizes('component A() { state a = 1 state b = 2 view: <ul>{for x in [1] { <li>{x}</li> }}</ul> }'),
    [2, 1, 2, 0, 0]
  )
  t.same(sizes('@scheduled("5m") fn a() { print(1) }'), [0, 0, 0, 0, 1])
  t.same(sizes('component A() { view: column() { heading("x") text("y") } }'), [5, 1, 0, 0, 0])
  t.same(sizes('component A() { state a = 1 }'), [0, 0, 1, 0, 0])
  t.end()
})

t.test('untranslatable code is reported in the diagnostics of the web IR', t => {
  const ir = found('@table type A { b: str }\ncomponent C() { view: <p>{db.A.count()}</p> }')
  t.match(ir.diagnostic_nodes, [
    { code: 'web.not_in_browser', message: /db\.A\.count/, span: null, category: 'codegen' }
  ])
  t.end()
})

for (const name of readdirSync(examples).filter(each => each.endsWith('.vox'))) {
  t.test(`${name} always has the same web IR, which matches its schema`, t => {
    const source = readFileSync(new URL(name, examples), 'utf8')
    t.same(webIr(source), webIr(source))
    const ir = webIr(source)
    t.ok(ir === null || validate(ir), JSON.stringify(validate.errors))
    t.end()
  })
}

t.test('app hooks become actions', t => {
  const source = `fn back() to bool { true }
@back_button { on_press: back fallback: "/" }
@deep_link { scheme: "tasks" routes: { "/t/:id": "/tasks/:id", "/b": back } }
@push { on_register: (back) }
`
  t.strictSame(
    found(source).behavior_nodes,
    [
      ['back_button.on_press', 'back'],
      ['back_button.fallback', "'/'"],
      ['deep_link.scheme', "'tasks'"],
      ['deep_link.routes /t/:id', "'/tasks/:id'"],
      ['deep_link.routes /b', 'back'],
      ['push.on_register', 'back']
    ].map(([name, payload_expr]) => ({ Action: { name, payload_expr, span: null } }))
  )
  t.equal(webIr('@tokens { brand: "#06c" }'), null, 'tokens do not become actions')
  t.end()
})
