import t from 'tap'
import { format } from '#format'
import { parse } from '#syntax'

const formatted = (source: string): string => {
  const parsed = parse(source)
  if (parsed.diagnostics.length > 0) throw new Error(parsed.diagnostics.map(({ message }) => message).join('; '))
  return format(parsed)
}

t.test('a keyword is an argument of a decorator, such as the effect spawn', async t => {
  const source = '@uses(net, spawn)\nfn f() {}\n'
  t.equal(formatted(source), source)
  const { module } = parse(source)
  t.match(module.items, [{ decorators: [{ args: [{ value: { name: 'net' } }, { value: { name: 'spawn' } }] }] }])
  const flags = '@embed(on, true, spawn)\nfn f() {}\n'
  t.match(parse(flags).module.items, [
    { decorators: [{ args: [{ value: { name: 'on' } }, { value: { kind: 'Bool' } }, { value: { name: 'spawn' } }] }] }
  ])
})

t.test('`..` is reported as no operator, with a fix inside of range', async t => {
  const source = 'fn f() { for i in range(1..10) { print(i) } }'
  const { diagnostics } = parse(source)
  t.match(diagnostics, [{ code: 'E0001', message: '`..` is not an operator', fixes: [{ replacement: ', ' }] }])
  const [{ fixes, span }] = diagnostics as [(typeof diagnostics)[number]]
  t.equal(source.slice(span.start, span.end), '..')
  const [fix] = fixes
  const mended = source.slice(0, fix?.span.start) + fix?.replacement + source.slice(fix?.span.end)
  t.same(parse(mended).diagnostics, [])
  t.match(parse('fn f(a: int, b: int) { let xs = a..b }').diagnostics, [{ message: /not an operator/, fixes: [] }])
})

t.test('@cancellable may precede a lambda, and no other decorator may', async t => {
  const source = 'component Page() {\n    view: button(on_click=@cancellable fn(_e) { go() }) { "Go" }\n}\n'
  t.equal(formatted(source), source)
  t.match(parse('fn f() { @pure fn() 1 }').diagnostics, [{ message: 'expected an expression, found `@pure`' }])
  t.match(parse('fn f() { let g = @cancellable 1 }').diagnostics, [{ message: /expected `fn` after `@cancellable`/ }])
})

t.test('a form names the page after a successful submit, which must be on the same site', async t => {
  const source = '@form\nSignUp {\n    field email: str\n    on_submit: join\n    success_redirect: "/thanks"\n}\n'
  t.equal(formatted(source), source)
  for (const path of ['thanks', '//evil.example', '/\\\\evil.example', 'https://evil.example']) {
    t.match(
      parse(`@form F { success_redirect: "${path}" }`).diagnostics,
      [{ message: '`success_redirect` must be a path of this site' }],
      path
    )
  }
})

t.test('a struct literal may have no entries, except before a body in braces', async t => {
  const literal = parse('fn f() { let p = P {} }').module.items[0]
  t.match(literal, { body: { statements: [{ value: { kind: 'Struct', entries: [] } }] } })
  t.match(parse('fn f() { if x is None {} }').module.items[0], {
    body: { statements: [{ expression: { kind: 'If', else: null } }] }
  })
  t.equal(formatted('fn f() { P { } }'), 'fn f() { P {} }\n')
})

t.test('decorators are accepted on tables, columns, routes, components, tools and handlers', async t => {
  const source = `@table
@auth(provider: password, identity: email)
@rule(read: owner is user.id, insert: owner is user.id and not (owner is 3))
type User {
    @unique email: str
    owner: int
}

@auth(provider: bearer)
@rate_limit(by: ip, per: "1m", max: 100)
http get "/p" to str { "x" }

@auth("users.read")
@role("admin")
component Page() {
    view: <div />
}

@public
@mcp.tool "adds"
fn f() to int { 1 }

actor A {
    @auth
    on f() to int { 1 }
}
`
  t.equal(formatted(source), source)
})
