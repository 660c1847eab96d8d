import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'

/** Returns the source at the spans of all diagnostics with one code. */
function places(code: string, source: string, suppressHookLints = false): string[] {
  const { module, diagnostics } = parse(source, { allowComponentFunctions: true })
  const error = diagnostics.find(({ severity }) => severity === 'error')
  if (error !== undefined) throw new Error(error.message)
  return check(module, { suppressHookLints })
    .filter(each => each.code === code)
    .map(({ span }) => source.slice(span.start, span.end))
}

const cases: readonly (readonly [code: string, places: readonly string[], wrong: string, right: string])[] = [
  ['lint.table_id_column', ['id'], '@table type T { id: int }', '@table type T { key: int }'],
  [
    'lint.index_unknown_table',
    ['U'],
    '@table type T { a: int }\n@index U.i on (a)',
    '@index T.i on (a)\n@table type T { a: int }'
  ],
  [
    'lint.index_unknown_column',
    ['b'],
    '@table type T { a: int }\n@index T.i on (a, b)',
    '@table type T { a: int }\n@index T.i on (_id)'
  ],
  [
    'lint.search_index_not_table',
    ['T'],
    'type T { a: str }\n@search_index T.i on (a)',
    '@table type T { a: str }\n@search_index T.i on (a)'
  ],
  [
    'lint.search_index_unknown_table',
    ['T'],
    '@vector_index T.i on (a)',
    '@table type T { a: Tensor[2] }\n@vector_index T.i on (a)'
  ],
  [
    'lint.search_index_unknown_field',
    ['b'],
    '@table type T { a: str }\n@search_index T.i on (b)',
    '@table type T { b: Option[str] }\n@search_index T.i on (b)'
  ],
  [
    'lint.search_index_field_type',
    ['a'],
    '@table type T { a: int }\n@search_index T.i on (a)',
    '@table type T { a: str? }\n@search_index T.i on (a)'
  ],
  [
    'lint.search_index_field_type',
    ['a'],
    '@table type T { a: str }\n@vector_index T.i on (a)',
    '@table type T { a: Tensor[3]? }\n@vector_index T.i on (a)'
  ],
  [
    'lint.search_index_field_type',
    ['b'],
    '@table type T { a: Tensor[3]\nb: Tensor[3] }\n@vector_index T.i on (a, b)',
    '@table type T { a: Option[Tensor[3]] }\n@vector_index T.i on (a)'
  ],
  [
    'typecheck.with.unknown_option',
    ['weight'],
    '@table type T { a: str }\n@search_index T.i on (a) with { weight: 2 }',
    '@table type T { a: str }\n@search_index T.i on (a) with { tokenize: "porter" }'
  ],
  [
    'typecheck.with.option_type',
    ['"dot"'],
    '@table type T { a: Tensor[2] }\n@vector_index T.i on (a) with { metric: "dot" }',
    '@table type T { a: Tensor[2] }\n@vector_index T.i on (a) with { metric: "l2" }'
  ],
  [
    'typecheck.with.not_record',
    ['2'],
    '@table type T { a: str }\n@search_index T.i on (a) with 2',
    '@table type T { a: str }\n@search_index T.i on (a)'
  ],
  [
    'typecheck.route.duplicate',
    ['"/a/:y"'],
    'http get "/a/:x" { 1 }\nhttp get "/a/:y" { 2 }',
    'http get "/a/:x" { 1 }\nhttp put "/a/:x" { 2 }'
  ],
  [
    'typecheck.route.duplicate',
    ['"/api/query/f"'],
    '@query fn f() to int { 1 }\nhttp get "/api/query/f" { 2 }',
    '@query fn f() to int { 1 }'
  ],
  ['typecheck.hir.empty_path', ['""'], 'http get "" { 1 }', 'http get "/" { 1 }'],
  [
    'typecheck.mcp.duplicate_resource_uri',
    ['"u"'],
    '@mcp.resource "u" "d" fn a() { 1 }\n@mcp.resource("u", "e") fn b() { 1 }',
    '@mcp.resource "u" "d" fn a() { 1 }\n@mcp.resource "v" "d" fn b() { 1 }'
  ],
  ['typecheck.mcp.empty_uri', ['""'], '@mcp.resource "" "d" fn a() { 1 }', '@mcp.resource "u" "" fn a() { 1 }'],
  [
    'typecheck.mcp.resource_params',
    ['x: int'],
    '@mcp.resource "u" "d" fn a(x: int) { 1 }',
    '@mcp.tool "d" fn a(x: int) { 1 }'
  ],
  ['typecheck.activity.no_return_type', ['a'], 'activity a() { Ok(1) }', 'activity a() to Result[int] { Ok(1) }'],
  [
    'typecheck.activity.result_type',
    ['int'],
    'activity a() to int { 1 }',
    'activity a() to Result[int, str] { Ok(1) }'
  ],
  [
    'W093',
    ['className', 'onClick'],
    'component A() { view: <a className="b" onClick={f()}/> }',
    'component A() { view: <a class="b" on_click={f()}/> }'
  ],
  ['E091', ['macro'], 'fn f() { macro(1) }', 'fn f() { micro(1) }'],
  ['E091', ['macro_rules'], 'fn macro_rules() { 1 }', 'fn rules() { 1 }'],
  [
    'lint.pure_shallow_violation',
    ['print(1)', 'spawn(A)'],
    '@pure fn f() { if x { print(1) }\n spawn(A) }',
    'fn f() { print(1)\n spawn(A) }'
  ],
  [
    'lint.component_react_hook',
    ['use_state(1)'],
    '@component fn A() to Element { use_state(1) }',
    'fn use() { use_state(1) }'
  ]
]

for (const [code, expected, wrong, right] of cases) {
  t.test(`${code} is reported for ${JSON.stringify(wrong)}`, async t => {
    t.same(places(code, wrong), expected)
    t.same(places(code, right), [])
  })
}

t.test('warnings about React hooks can be suppressed', async t => {
  t.same(places('lint.component_react_hook', '@component fn A() { use_state(1) }', true), [])
})
