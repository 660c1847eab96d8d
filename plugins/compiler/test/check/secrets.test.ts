import t from 'tap'
import { check } from '#check'
import { hasErrors } from '#root'
import { parse } from '#syntax'

const PRELUDE = `@ai fn ask(question: str, about: str = "") to str
@prompt(stage = Planner) fn plan(goal: str) to str
@search fn look(query: str) to List[str]
type Login { name: str, password: str }
fn key() to str { secrets.resolve("api") }
fn same(text: str) to str { text }
fn second(a: str, b: str) to str { b }
fn forward(a: str, b: str) to str { ask("about " + b) }
fn far(text: str) to str { forward("x", text) }
fn ping(n: int, text: str) to str { if n is 0 { text } else { pong(n - 1, text) } }
fn pong(n: int, text: str) to str { ping(n, text) }
let token = secrets.resolve("token")
`

/** Returns the source at the span of each diagnostic. */
function findings(source: string, script = false): string[] {
  const text = PRELUDE + source
  const { module, diagnostics } = parse(text, { script })
  if (hasErrors(diagnostics)) throw new Error(diagnostics.map(({ message }) => message).join('; '))
  return check(module, { suppressHookLints: false })
    .filter(({ code }) => code === 'vox/prompt/secret-leakage')
    .map(({ span }) => text.slice(span.start, span.end))
}

t.test('a secret that is sent to a model is reported, whatever path it takes', t => {
  for (const [body, at] of [
    ['ask(secrets.resolve("a"))', 'secrets.resolve("a")'],
    ['ask(std.env.get("HOME").unwrap())', 'std.env.get("HOME").unwrap()'],
    ['ask(env.get("HOME"))', 'env.get("HOME")'],
    ['plan(key())', 'key()'],
    ['ask("x", about = key())', 'key()'],
    ['ask(token)', 'token'],
    ['key() |> ask', 'key()'],
    ['key() |> ask()', 'key()'],
    ['ask("use " + key() + "!")', '"use " + key() + "!"'],
    ['let k = key()\n ask(k)', 'k'],
    ['let mut k = ""\n k = key()\n ask(k)', 'k'],
    ['let mut k = ""\n for x in [1, 2] { ask(k)\n k = key() }', 'k'],
    ['let r = { key: key() }\n ask(r.key)', 'r.key'],
    ['let r = Login { name: "a", password: key() }\n ask(str(r))', 'str(r)'],
    ['let (a, b) = ("x", key())\n ask(b)', 'b'],
    ['match std.env.get("A") { Some(v) => ask(v), None => "" }', 'v'],
    ['ask(if true { key() } else { "" })', 'if true { key() } else { "" }'],
    ['ask(key().trim().to_upper())', 'key().trim().to_upper()'],
    ['ask([key()][0])', '[key()][0]'],
    ['[key()].map(fn(k) ask(k))', 'k'],
    ['for k in [key()] { ask(k) }', 'k'],
    ['ask(std.json.stringify({ k: key() }))', 'std.json.stringify({ k: key() })'],
    ['ask(same(key()))', 'same(key())'],
    ['ask(second("x", key()))', 'second("x", key())'],
    ['ask(ping(3, key()))', 'ping(3, key())'],
    ['forward("x", key())', 'key()'],
    ['forward(b = key(), a = "x")', 'key()'],
    ['far(key())', 'key()']
  ] as const) {
    t.same(findings(`fn f() { ${body} }`), [at], body)
  }
  t.same(findings('http get "/x" to str { ask(key()) }'), ['key()'])
  t.same(findings('actor A { on go() to str { ask(key()) } }'), ['key()'])
  t.same(findings('workflow w() { ask(key()) }'), ['key()'])
  t.same(findings('let k = key()\nask(k)', true), ['k'])
  t.end()
})

t.test('values that do not contain the secret are not reported', t => {
  for (const body of [
    'ask("hello")',
    'look(key())',
    'print(key())',
    'ask(std.http.post_json("https://example.org", { key: key() }).unwrap())',
    'ask(str(len(key())))',
    'ask(str(key() is "x"))',
    'if key().is_empty() { ask("there is no key") }',
    'ask(second(key(), "x"))',
    'forward(key(), "x")',
    'ask(std.env.args()[0])',
    'let secrets = { resolve: fn(x) x }\n ask(secrets.resolve("a"))',
    'ask(ask("x"))'
  ]) {
    t.same(findings(`fn f() { ${body} }`), [], body)
  }
  t.end()
})

t.test('long chains of functions and variables can be checked', t => {
  const count = 2000
  const functions = Array.from({ length: count }, (_, index) => `fn f${index}(a: str) { f${(index + 1) % count}(a) }`)
  t.same(findings(`${functions.join('\n')}\nfn g() { f0(key()) }`), [])
  const variables = Array.from({ length: 2000 }, (_, index) => `    v${index} = v${index + 1}`)
  t.same(findings(`fn g() { while true {\n${variables.join('\n')}\n} }`), [])
  t.end()
})
