import t from 'tap'
import { format } from '#format'
import { parse, sameSyntax } from '#syntax'

/** Formats a source. Throws unless the result is stable and has the same meaning. */
function formatted(source: string): string {
  const parsed = parse(source)
  const [error] = parsed.diagnostics.filter(({ severity }) => severity === 'error')
  if (error !== undefined) throw new Error(error.message)
  const text = format(parsed)
  const again = parse(text)
  if (!sameSyntax(parsed.module.items, again.module.items)) throw new Error(`formatting changes the meaning:\n${text}`)
  if (parsed.tokens.comments.length !== again.tokens.comments.length)
    throw new Error(`formatting loses a comment:\n${text}`)
  if (format(again) !== text) throw new Error(`formatting twice gives another result:\n${text}`)
  return text
}

const lines = (...text: string[]): string => `${text.join('\n')}\n`

t.test('the formatter replaces old spellings with canonical ones', async t => {
  t.equal(
    formatted("@endpoint(kind: query) fn f(a: [int]) -> List<str> { if !a == 1 && b != 'x' { ret 1 } else { ret 2 } }"),
    lines('@query', 'fn f(a: List[int]) to List[str] { if not a is 1 and b isnt "x" { return 1 } else { return 2 } }')
  )
  t.equal(formatted('@tool "d"\nfn f() { spawn A }'), lines('@mcp.tool "d"', 'fn f() { spawn(A) }'))
})

t.test('blocks on several lines stay on several lines, indented by four spaces per level', async t => {
  t.equal(
    formatted('fn f() {\nif a {\nb }\nelse if c { d } else {\ne\n}\nwhile x { y }\n}'),
    lines(
      'fn f() {',
      '    if a {',
      '        b',
      '    } else if c {',
      '        d',
      '    } else {',
      '        e',
      '    }',
      '    while x {',
      '        y',
      '    }',
      '}'
    )
  )
})

t.test('a line of more than 100 characters is broken at the outermost useful position', async t => {
  const names = ['first_argument', 'second_argument', 'third_argument', 'fourth_argument']
  const call = `fn f() { some_function_with_a_name(${names.join(', ')}, fifth_argument) }`
  t.equal(
    formatted(call),
    lines(
      'fn f() {',
      ...['    some_function_with_a_name('],
      ...names.map(name => `        ${name},`),
      '        fifth_argument',
      '    )',
      '}'
    )
  )
})

t.test('the fields of a type on a line that is too long are on separate lines, without commas', async t => {
  const fields = Array.from({ length: 12 }, (_, index) => `field${index}: Option[int]`)
  t.equal(formatted(`type Wide { ${fields.join(', ')} }`), `type Wide {\n    ${fields.join('\n    ')}\n}\n`)
  t.equal(
    formatted(`type Thin { ${fields.slice(0, 3).join(', ')} }`),
    `type Thin { ${fields.slice(0, 3).join(', ')} }\n`
  )
})

t.test('operands are broken after operators, and before pipes', async t => {
  const a = 'a'.repeat(40)
  t.equal(formatted(`let x = ${a} + ${a} + ${a}`), lines(`let x = ${a} +`, `    ${a} +`, `    ${a}`))
  t.equal(formatted(`let x = ${a} |> ${a} |> ${a}`), lines(`let x = ${a}`, `    |> ${a}`, `    |> ${a}`))
})

t.test('long chains of calls are broken before their dots', async t => {
  t.equal(
    formatted(`let x = db.T.where({ a: "${'x'.repeat(60)}" }).order_by("a", "desc").limit(10)`),
    lines(`let x = db.T.where({ a: "${'x'.repeat(60)}" })`, '    .order_by("a", "desc")', '    .limit(10)')
  )
})

t.test('comments keep their position before, in or after an item', async t => {
  const source = lines(
    '// about the file',
    '',
    '// about f',
    'fn f(',
    '    a: int, // first',
    '    // before b',
    '    b: int',
    '    // after b',
    ') {',
    '    // at the beginning',
    '    let x = [ // in a list',
    '        1,',
    '        2 // two',
    '    ]',
    '',
    '    match x { // subject',
    '        1 => 2 // arm',
    '        // last arm',
    '    }',
    '    // at the end',
    '}',
    '// after f'
  )
  const text = formatted(source)
  for (const line of [
    '    a: int, // first',
    '    // after b',
    '        2 // two',
    '        1 => 2 // arm',
    '    // at the end'
  ]) {
    t.match(text, `${line}\n`)
  }
  t.match(text, /\/\/ about the file\n\n\/\/ about f\nfn f\(/)
})

t.test('comments inside an item move before it', async t => {
  t.equal(formatted('let a = b + // why\n c'), lines('// why', 'let a = b + c'))
  t.equal(formatted('fn f() { } // end'), lines('fn f() {} // end'))
  t.equal(formatted('fn f() { // only\n}'), lines('fn f() {', '    // only', '}'))
})

t.test('the formatter reduces blank lines to one, and separates declarations with a blank line', async t => {
  t.equal(
    formatted('import a\nimport b\nfn f() {\n\n  x\n\n\n  y\n\n}\nfn g() { 1 }\n'),
    lines('import a', 'import b', '', 'fn f() {', '    x', '', '    y', '}', '', 'fn g() { 1 }')
  )
})

t.test('strings are in double quotes unless single quotes need fewer escapes', async t => {
  t.equal(formatted(`let a = 'it\\'s'\nlet b = '"'`), lines(`let a = "it's"`, `let b = '"'`))
})

t.test('views are formatted as trees', async t => {
  t.equal(
    formatted('component A() { view: <div class="a"><p>"one" {two}</p><img src="x"/></div> }'),
    lines(
      'component A() {',
      '    view:',
      '        <div class="a">',
      '            <p>',
      '                "one"',
      '                {two}',
      '            </p>',
      '            <img src="x" />',
      '        </div>',
      '}'
    )
  )
  t.equal(
    formatted('component A() { view: column(gap=1) { text("a") button(label="b", on_click={ x = 1 }) } }'),
    lines(
      'component A() {',
      '    view: column(gap=1) {',
      '        text("a")',
      '        button(label="b", on_click={ x = 1 })',
      '    }',
      '}'
    )
  )
})

t.test('formatting keeps the meaning of every declaration', async t => {
  const source = `import std.fs, a/b as { c as d }, rust:x(version: "1", git: "g") as y, react Z from "./z"
  @deprecated type A[T] = | B(x: int = 1, T) | C { y: str }
  pub type D { @pii x: int = 1, y: str? }
  type E = fn(int, _) to (A, dec)
  @collection type F { type: Tensor[2] }
  @search_index F.s on (a) with { weight: 2 }
  @test("x") @require(a > 0, "why") async fn f[T](a: int = 1, _) uses net, fs to T { () }
  @ai("m", temperature: 1) fn g() to str
  http put "/x" to Unit { () }
  http get "/x/:y"(y: int) { y }
  actor G(x: int) { state a: int = 0 b: str let mut c = 1 @deprecated on go(x) to int { x } }
  workflow w() { () }
  activity h(x: int) to Result[int] with { retries: 1 } { Ok(x) }
  agent I { version "1" a: int = 1 instructions: "x" tools: [a, b] on go() { 1 } migrate from "0" { 1 } }
  env j { base "b" packages ["p"] env K = "v" copy "a" to "b" cmd "c" workdir "/w" expose [80] volumes ["/v"] run "r" }
  component K(a: int) { state b = 1 derived c: int = b effect: { print(1) } effect depends_on(b, c): print(2) on cleanup: f() let d = 1 view: <></> }
  style { .x-y { a-b: "c" } } raw_css { .z { d: "e" } }
  fragment L(x: int) { <p>{x}</p> }
  @island M { a: int, b?: str }
  @island fn N() { 1 }
  @v0 "id" O { a: int }
  @v0 from "./o" P { }
  routes { "/" to K with loader: f { "a" to K with (loader: f, pending: K) } not_found: K error: K }
  const q: int = 1
  let (r, _) = (1, 2)
  extern fn s(x: int) to int = "y"
  pub url T { a, b(x: int, ?y: str) }
  partial state_machine U { state A terminal state B(x: int) on go(y: int) from A(z) -> B(1) on stop from any -> A }
  @form V { field a: str required max(1, 2)
  on_submit: f }
  @push { a: 1 }
  @deep_link W { b: "c" }
  `
  const text = formatted(source)
  t.match(text, '@collection\ntype F {')
  t.match(text, '    field a: str required max(1, 2)\n    on_submit: f')
})

t.test('formatting keeps the meaning of every expression', async t => {
  const source = `fn f() {
  let mut (a, _): (int, int) = ((1), 2.5)
  a = -b; a.b += 1; a[0] -= 1; a.0 *= 1; c /= 2
  ({}); { a: 1, "b c": 2, d }; [1, 'x', 3dec, true]; (1,); P { x: 1 }
  if a { b }
  for x, i in xs key=x.id { y }
  for _ in xs f(x)
  match x { -1 | 2 | "a" | true => return, B(C, (d, e)) if x > 1 => { y } _ => x = 1 }
  loop { break } while x { continue }
  side_effect { y }
  fn(x: int) to int x; x => x; (x, y) => { x: y }; () => {}
  spawn(A).b(c=1)?
  a |> f(b) with { retries: 1 }
  2 .0; -3 .1.a
  <A.B x y="1" z={1} on:w={ a = 1 } u={{ a: 1 }} v={{ x }} />
  <a>"x" {{ y }} {for x in y <b/>} {z(1)} </a>
  card(attr_class="x", b=1) { text("x"), if a { b } }
  }`
  t.ok(formatted(source))
})

t.test('an empty program stays empty', async t => {
  t.equal(formatted(''), '')
  t.equal(formatted('\n\n// only a comment\n\n'), lines('// only a comment'))
})

t.test('a body that would be parsed as part of its head is put on a separate line', async t => {
  for (const [source, body] of [
    ['for x in a; (1)', '(1)'],
    ['for x in a; ().b(1)', '().b(1)'],
    ['for x in a; [1].len()', '[1].len()'],
    ['for x in a; -1 + 2', '-1 + 2'],
    ['fn(x) to T; [1]', '[1]']
  ] as const) {
    const head = source.slice(0, source.indexOf(';'))
    t.equal(formatted(`fn f(a: any) {\n${source}\n}`), lines('fn f(a: any) {', `    ${head}`, `        ${body}`, '}'))
  }
  t.equal(formatted('fn f(a: any) {\nfor x in a; b\n}'), lines('fn f(a: any) {', '    for x in a b', '}'))
})

t.test('a comma that separates a call from a block is kept', async t => {
  t.equal(
    formatted('fn f() {\ncolumn(gap=1) , // a\n{ x }\n}'),
    lines('fn f() {', '    column(gap=1), // a', '    { x }', '}')
  )
  t.equal(
    formatted('component C() {\nview: column(gap=1) ,{\nx\n}\n}'),
    lines('component C() {', '    view: column(gap=1),', '    {', '        x', '    }', '}')
  )
  t.equal(formatted('fn f() {\na(), b()\n}'), lines('fn f() {', '    a()', '    b()', '}'))
})

t.test('actor messages are formatted as calls of send', async t => {
  t.equal(
    formatted('fn f(h: any) {\nh.send note("a") // sent\nh ! note(1, 2)\nh.send("note")\n}'),
    lines('fn f(h: any) {', '    h.send("note", "a") // sent', '    h.send("note", 1, 2)', '    h.send("note")', '}')
  )
})
