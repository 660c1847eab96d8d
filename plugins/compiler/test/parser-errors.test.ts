import t from 'tap'
import { MAX_HEIGHT, MAX_NESTING, parse, walk } from '#syntax'

interface Found {
  readonly code: string
  readonly at: string
  readonly message: string
}

function errors(source: string, options = {}): Found[] {
  return parse(source, options)
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ code, message, span }) => ({ code, at: source.slice(span.start, span.end), message }))
}

const message = (source: string): string => errors(source)[0]?.message ?? 'no error'

t.test('a word that cannot begin a declaration is reported with the expected words', async t => {
  t.match(errors('garbage here'), [
    { code: 'E0001', at: 'garbage', message: /`garbage` cannot begin a declaration; expected `fn`/ }
  ])
})

t.test('an entry of routes without `to` is reported', async t => {
  const { diagnostics } = parse('routes { "/" Home }')
  t.match(diagnostics, [{ message: 'an entry of `routes` requires `to` between the path and the component' }])
  t.match(diagnostics[0]?.fixes, [{ replacement: ' to' }])
})

t.test('a view or a field without its colon is reported', async t => {
  t.equal(message('component A() { view <div/> }'), '`view` requires a colon before the element')
  t.equal(message('@island X { a int }'), 'expected `:` after the name of a field, found `int`')
})

t.test('pub before anything but a function or a type is reported', async t => {
  t.equal(message('pub let x = 1'), 'expected `fn` or `type` after `pub`, found `let`')
  t.equal(message('pub @form F { }'), 'expected `fn` or `type` after `pub`, found `F`')
})

t.test('a brace that is not closed is reported at the end of the file, or before the next declaration', async t => {
  const source = 'fn a() {\n  let x = 1\n'
  const [end] = parse(source).diagnostics
  t.match(end, { message: 'expected `}`, found the end of the file', related: [{ span: { start: 7, end: 8 } }] })
  t.match(errors('fn a() {\n  if x {\n    y()\n}\n\nfn b() { 1 }\n'), [
    { at: 'fn', message: 'an opening brace is not closed before this declaration' }
  ])
})

t.test('a component can be a function only if the setting allows it', async t => {
  const source = '@component fn A() to Element { <a/> }'
  t.match(errors(source), [{ code: 'E0001', message: 'a component cannot be a function' }])
  const { diagnostics, module } = parse(source, { allowComponentFunctions: true })
  t.match(diagnostics, [{ code: 'lint.legacy_component_fn', severity: 'warning' }])
  t.match(module.items, [{ kind: 'Function', role: 'component' }])
})

t.test('an arrow before a result type is accepted, and in an arm it is an error with a fix', async t => {
  t.same(errors('fn a() -> int { 1 }'), [])
  const { diagnostics } = parse('fn a() { match x { A -> 1\n B -> 2 } }')
  t.match(diagnostics, [{ fixes: [{ replacement: '=>' }] }, { fixes: [{ replacement: '=>' }] }])
})

t.test('@get is reported with a fix that writes an http route', async t => {
  const source = '@get("/p") fn x() to int { 1 }'
  const [first] = parse(source).diagnostics
  t.match(first, { code: 'parse.deprecated_get', suggestions: [/http get "\/p" to T/] })
  const fix = first?.fixes[0]
  t.equal(`${fix?.replacement}${source.slice(fix?.span.end)}`, 'http get "/p"() to int { 1 }')
})

t.test('an unknown decorator is reported with the nearest name, retired ones with their replacement', async t => {
  t.match(parse('@qurey fn a() { 1 }').diagnostics, [
    { code: 'parse.unknown_decorator', fixes: [{ replacement: '@query' }] }
  ])
  const codes = ['context', 'hook', 'provider', 'page'].map(name => parse(`@${name} fn a() { 1 }`).diagnostics[0]?.code)
  t.same(codes, ['lint.retired_context', 'lint.retired_hook_fn', 'lint.retired_provider_fn', 'lint.retired_page_decl'])
})

t.test('every independent error is reported, and no follow-up error', async t => {
  const source = `fn a() {
  let = 3
  let y 4
  foo(1, , 2)
  bar(1 2)
  ok()
}
fn b( { }
type C { x int, y: str }
routes { "/" Home "/b" to }
fn d() { x = }`
  t.same(
    errors(source).map(({ at }) => at),
    ['=', '4', ',', '2', '{', 'int', 'Home', '}', '}']
  )
})

t.test('unclosed and mismatched tags are reported', async t => {
  t.same(
    errors('fn a() { <div><p></div> }').map(({ message }) => message),
    ['`<p>` is not closed before `</div>`']
  )
  t.same(
    errors('fn a() { <div></dvi> }').map(({ message }) => message),
    ['`</dvi>` does not match `<div>`']
  )
  t.same(
    errors('fn a() { <div> }\nfn b() { 1 }').map(({ message }) => message),
    ['expected `</div>`, found `}`']
  )
})

t.test('an int beyond 64 bits is reported', async t => {
  t.same(errors('let a = -9223372036854775808\nlet b = 9223372036854775807'), [])
  t.equal(message('let a = 9223372036854775808'), '9223372036854775808 does not fit into an int of 64 bits')
})

t.test('syntax that is nested too deeply is a single error, never a stack overflow', async t => {
  const deep = [
    ...['(', '[', '{', '-', 'not ', 'if x { ', 'fn() ', 'a => ', 'f(', '<a>', 'match x { _ => '].map(
      piece => `let a = ${piece.repeat(5_000)}`
    ),
    `fn a(x: ${'List['.repeat(5_000)}`,
    `fn a() { let ${'('.repeat(5_000)}`,
    `fn a() { ${'if x { 1 } else '.repeat(5_000)}`,
    `let a = ${'a + '.repeat(5_000)}a`,
    `let a = a${'.b'.repeat(5_000)}`,
    `routes { ${'"/" to A { '.repeat(5_000)}`
  ]
  for (const source of deep) {
    const found = errors(source)
    t.match(found[0]?.message, /levels/, source.slice(0, 30))
    t.equal(found.length, 1, source.slice(0, 30))
  }
  t.ok(MAX_NESTING < MAX_HEIGHT)
})

t.test('the parsed part of an invalid source has spans inside the source', async t => {
  const source = 'fn a(x: ) { let y = \n foo(, ) }\ntype B { c: , d }\nactor'
  const { module } = parse(source)
  walk(module, node => {
    t.ok(node.start >= 0 && node.start <= node.end && node.end <= source.length, node.kind)
    return true
  })
})

t.test('a type name in lower case is reported with a fix', async t => {
  t.match(parse('type point { x: int }').diagnostics, [{ fixes: [{ replacement: 'Point' }] }])
})

t.test('invalid decorators, arguments and strings are reported', async t => {
  for (const source of [
    '@table(1) type A { b: int }',
    '@table "x" type A { b: int }',
    '@deprecated @index A.b on (c)',
    '@deprecated import a',
    '@query @mutation fn a() { 1 }',
    '@mcp.tool fn a() { 1 }',
    '@endpoint(kind: none) fn a() { 1 }',
    '@pure'
  ]) {
    t.not(message(source), 'no error', source)
  }
})
