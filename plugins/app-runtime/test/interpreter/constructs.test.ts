import t from 'tap'
import { run, shown } from '../run-program.ts'

/** Expected output by expression. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  '1 + 2 * 3': '7',
  '7 / 2': '3',
  '0 - 7 / 2': '-3',
  '-7 % 3': '-1',
  '7.0 / 2': '3.5',
  '1 + 0.5': '1.5',
  '1.0': '1',
  '100000000000000000000000.0': '100000000000000000000000',
  '9007199254740992 + 1': '9007199254740993',
  '9223372036854775807 + 1': 'RUN_OVERFLOW',
  '4611686018427387904 * 2': 'RUN_OVERFLOW',
  '1 / 0': 'RUN_DIVISION_BY_ZERO',
  '1 % 0': 'RUN_DIVISION_BY_ZERO',
  '1.0 / 0': 'Infinity',
  '0.1dec + 0.2dec': '0.3',
  '10dec / 4dec': '2.5',
  '1dec / 3dec': '0.3333333333333333333333333333',
  '0.1dec is 0.10dec': 'true',
  '2.675dec.round(2)': '2.68',
  '1dec / 0dec': 'RUN_DIVISION_BY_ZERO',
  '"a" + "b"': 'ab',
  '"n: " + [1, 2]': 'n: [1, 2]',
  '1 < 2 and 2 <= 2 and "a" < "b"': 'true',
  'true or std.nothing.here()': 'true',
  'false and std.nothing.here()': 'false',
  'not true': 'false',
  '1 is 1.0': 'true',
  '[[1], [2]] is [[1], [2]]': 'true',
  '{ a: 1, b: 2 } is { b: 2, a: 1 }': 'true',
  '(1, "x") isnt (1, "y")': 'true',
  'Some(1) is Some(1)': 'true',
  '(1, "x").1': 'x',
  '[1, 2, 3][-1]': '3',
  '[1][1]': 'RUN_INDEX',
  '"häß"[1]': 'ä',
  '{ a: { b: 2 } }.a.b': '2',
  '{ a: 1 }["a"]': '1',
  '[3, 1] |> len': '2',
  '[1, 2] |> std.list.reduce(10, fn(a, b) a + b)': '13',
  'if 1 < 2 { "yes" } else { "no" }': 'yes',
  'match 3 { 1 => "one", 2 | 3 => "few", _ => "many" }': 'few',
  'match (1, Some("x")) { (n, Some(s)) if n > 5 => s, (_, Some(s)) => s + "!", _ => "" }': 'x!',
  'match -1 { -1 => "minus", _ => "" }': 'minus',
  'match Ok(1) { Ok(n) => n, Error(_) => 0 }': '1',
  'match Error("e") { Ok(_) => "", Err(m) => m }': 'e',
  'for x in [1, 2, 3] { x * x }': '[1, 4, 9]',
  'for c in "añ" { c }': '[a, ñ]',
  'for (k, v) in { a: 1 } { k + v }': '[a1]',
  '(fn(a, b) a - b)(5, 3)': '2',
  'str(None) + str(Some(Unit))': 'NoneSome(null)',
  'type_of(1.5) + type_of([]) + type_of(Ok(1))': 'floatListResult',
  'int("42") + int("x") + int(3.9)': '45',
  'dec(3) * 2.50dec + dec(" -0.5 ") + dec("x") + dec(true)': '8.00',
  '(dec(0.1) + dec(0.2), dec(1.5 * 1000000000000000000000000.0), dec(0.00000000001))':
    '(0.3, 1500000000000000000000000, 0.00000000001)',
  'std.html.escape("<a b=\'c\'> & \\"")': '&lt;a b=&#39;c&#39;&gt; &amp; &quot;',
  'bool("") or bool(0) or bool([])': 'false',
  'range(2, 5)': '[2, 3, 4]',
  '"no {hole}"': 'no {hole}'
}

t.test('expressions have the specified value', async t => {
  for (const [expression, value] of Object.entries(EXPRESSIONS)) t.equal(shown(expression), value, expression)
})

const METHODS: Readonly<Record<string, string>> = {
  '" a ".trim().to_upper().repeat(2)': 'AA',
  '"a,b".split(",")': '[a, b]',
  '"😀b".len()': '2',
  '"😀bc".slice(1, 9)': 'bc',
  '"😀b".index_of("b").unwrap()': '1',
  '"ab".char_at(5)': 'None',
  '[" 12 ", "-9223372036854775808", "+3"].map(fn(s) s.parse_int().unwrap())': '[12, -9223372036854775808, 3]',
  '["", "12a", "1.5", "9223372036854775808"].map(fn(s) s.parse_int())': '[None, None, None, None]',
  '["2.5", "-1e3", ".5"].map(fn(s) s.parse_float().unwrap())': '[2.5, -1000, 0.5]',
  '["x", "1e999", ""].map(fn(s) s.parse_float())': '[None, None, None]',
  '["12.50", "-3"].map(fn(s) s.parse_dec().unwrap())': '[12.50, -3]',
  '["", "abc", "1e3", "1.", "1,5"].map(fn(s) s.parse_dec())': '[None, None, None, None, None]',
  '"a.b.c".replace(".", "$&")': 'a$&b$&c',
  '[1, 2].append(3).reverse()': '[3, 2, 1]',
  '[1, 2].pop()': '[1]',
  '[].first()': 'None',
  '[1].at(4).is_err()': 'true',
  '[1, 2, 3].filter(fn(n) n % 2 is 1).map(fn(n) n * 2)': '[2, 6]',
  '[1, 2].join("-")': '1-2',
  '(-5).abs() + 3.max(4) + 2.min(1)': '10',
  '2.5.round() + 2.0.sqrt().floor()': '4',
  'Some(1).map(fn(n) n + 1)': 'Some(2)',
  'None.unwrap_or(5)': '5',
  'None.unwrap()': 'RUN_PANIC',
  '{ a: 1 }.set("b", 2).keys()': '[a, b]',
  '{ a: 1 }.get("z")': 'None',
  'std.json.value([1]).frobnicate()': 'RUN_UNSUPPORTED',
  'std.json.value({}).keys(1)': 'RUN_ARGUMENTS',
  'std.math.max(1.5, 2.5)': '2.5',
  'std.list.sort([3, 1, 2])': '[1, 2, 3]',
  '[3, 1, 2].sort()': '[1, 2, 3]',
  '["b", "a", "B"].sort()': '[B, a, b]',
  '[2.5dec, 10dec, 1dec].sort()': '[1, 2.5, 10]',
  '[].sort()': '[]',
  '[std.json.value(true), false].sort()': 'RUN_TYPE',
  '["ccc", "a", "bb", "d"].sort_by(fn(text) text.len())': '[a, d, bb, ccc]',
  '[1, 2, 3].fold(10, fn(total, n) total * n)': '60',
  '[].fold("none", fn(total, n) total + n)': 'none',
  '[1, 2].flat_map(fn(n) [n, n * 10])': '[1, 10, 2, 20]',
  '[1, 2].flat_map(fn(n) std.json.value(n))': 'RUN_TYPE',
  '[1, 2, 3].zip(["a", "b"])': '[(1, a), (2, b)]',
  'std.json.parse("{\\"a\\": [1, {\\"b\\": true}]}").unwrap().a[1].b': 'true',
  'std.json.parse("{\\"a\\": 1}").unwrap().get_str("a").is_err()': 'true',
  'std.json.parse("nope").is_err()': 'true',
  'std.json.stringify({ a: [1, 2.5, None, Some("x")] })': '{"a":[1,2.5,null,"x"]}',
  'std.json.read_str("{\\"a\\": {\\"b\\": [\\"c\\"]}}", "a.b.0").unwrap()': 'c',
  'std.regex.compile("(\\\\d+)").unwrap().find("ab12").unwrap().group(1).unwrap()': '12',
  'std.time.now_ms()': '1700000000000',
  'std.random.int(0, 10)': '5',
  'std.path.extension("a/b.txt")': 'txt',
  'OpenClaw.list_skills()': 'Error(other plugins are not available here)',
  'Browser.open("http://a/")': 'Error(no browser is available here)',
  'std.nothing.here()': 'RUN_UNSUPPORTED'
}

t.test('methods and functions of the host match the reference', async t => {
  for (const [expression, value] of Object.entries(METHODS)) t.equal(shown(expression), value, expression)
})

/** Bodies of main, with their output. */
const BODIES: readonly (readonly [what: string, body: string, printed: string])[] = [
  [
    'while, break and continue',
    'let mut i = 0\nwhile true {\ni += 1\nif i is 2 { continue }\nif i > 3 { break }\nprint(i)\n}',
    '1 3'
  ],
  ['loop', 'let mut i = 0\nloop {\ni += 1\nif i is 3 { break }\n}\nprint(i)', '3'],
  [
    'a jump out of an expression',
    'for i in range(5) {\nlet n = 1 + (if i is 2 { break } else { i })\nprint(n)\n}',
    '1 2'
  ],
  ['a jump out of an arm', 'for i in range(4) {\nmatch i {\n1 => continue\n3 => break\n_ => print(i)\n}\n}', '0 2'],
  ['nested loops', 'for i in range(3) {\nfor j in range(3) {\nif j is i { break }\nprint(j)\n}\n}', '0 0 1'],
  ['names of inner blocks', 'let a = 1\nif true {\nlet a = 2\nprint(a)\n}\nprint(a)', '2 1'],
  ['a name again', 'let a = 1\nlet a = a + 1\nprint(a)', '2'],
  ['immutable lists', 'let mut a = [1, 2]\nlet b = a\na[0] = 9\nprint(a, b)', '[9, 2] [1, 2]'],
  ['assigned fields', 'let mut p = { x: { y: 1 } }\nlet q = p\np.x.y += 5\nprint(p.x.y, q.x.y)', '6 1'],
  ['closures that share a variable', 'let mut t = 0\n[1, 2, 3].map(fn(n) { t += n })\nprint(t)', '6'],
  ['closures of iterations', 'let fs = for i in range(3) { fn() i }\nprint(fs[0](), fs[2]())', '0 2'],
  ['closures of closures', 'let add = fn(a) fn(b) a + b\nprint(add(1)(2))', '3'],
  ['destructured tuples', 'let (a, (b, _)) = (1, (2, 3))\nprint(a, b)', '1 2'],
  ['an index in for', 'for x, i in ["a", "b"] { print(i, x) }', '0 a 1 b'],
  ['an if without else', 'print(if false { 1 })', 'null'],
  ['a block as a value', 'let a = {\nlet b = 2\nb * 3\n}\nprint(a)', '6']
]

t.test('statements behave as specified', async t => {
  for (const [what, body, printed] of BODIES) {
    const { lines, error } = run(`fn main() {\n${body}\n}\n`)
    t.equal(error, null, what)
    t.equal(lines.join(' '), printed, what)
  }
})

const DECLARATIONS = `
type Shape =
    | Circle(radius: int)
    | Square(side: int)
    | Empty

// A value of any type has the fields that it has when the program runs.
fn radius_of(shape: any) to any { shape.radius }

type Options {
    name: str
    size: int = 3
}

const FACTOR = 2
const DOUBLE = FACTOR * 2

fn area(s: Shape) to int {
    match s {
        Circle(r) => 3 * r * r
        Square(side) => side * side
        Empty => 0
    }
}

fn half(n: int) to Result[int] {
    if n % 2 isnt 0 { return Error("odd " + str(n)) }
    Ok(n / 2)
}

fn quarter(n: int) to Result[int] {
    Ok(half(half(n)?)?)
}

fn first(xs: List[int]) to Option[int] {
    Some(xs.first()? + 1)
}

fn greet(name: str, greeting: str = "Hello", end: str = greeting + name) to str {
    greeting + " " + name + end
}

@require(n > 0)
@ensure(result > n, "grows")
fn grow(n: int) to int {
    if n is 5 { return 1 }
    n + 1
}

@require(result > 0)
fn negative(result: int) to int { 0 - result }

@ensure(result > 1)
fn apply(f: fn(int) to int = fn(result: int) result + 1) to int { f(1) }

fn even(n: int) to bool { if n is 0 { true } else { odd(n - 1) } }
fn odd(n: int) to bool { if n is 0 { false } else { even(n - 1) } }
`

const CALLS: Readonly<Record<string, string>> = {
  '[Circle(2), Square(3), Empty].map(area)': '[12, 9, 0]',
  'Circle(2)': 'Circle(2)',
  'radius_of(Circle(2))': '2',
  'type_of(Empty)': 'Empty',
  'Options { name: "x" }': '{name: x, size: 3}',
  DOUBLE: '4',
  'quarter(12)': 'Ok(3)',
  'quarter(6)': 'Error(odd 3)',
  'first([])': 'None',
  'first([4])': 'Some(5)',
  'greet("you")': 'Hello youHelloyou',
  'greet(greeting = "Hi", name = "you", end = "!")': 'Hi you!',
  'grow(1)': '2',
  'grow(0)': 'RUN_ASSERTION',
  'grow(5)': 'RUN_ASSERTION',
  'negative(2)': '-2',
  'negative(0)': 'RUN_ASSERTION',
  'apply()': '2',
  'apply(fn(n: int) n)': 'RUN_ASSERTION',
  'even(100)': 'true',
  'match Empty { Circle(_) | Square(_) => "some", Empty => "none" }': 'none',
  'match Square(4) { Circle(n) | Square(n) => n, Empty => 0 }': '4'
}

t.test('functions, constructors, constants and conditions work together', async t => {
  for (const [expression, value] of Object.entries(CALLS)) t.equal(shown(expression, DECLARATIONS), value, expression)
})

t.test('top-level statements are run as a script', async t => {
  t.same(run('let a = 2\nprint(a * 21)\n', { script: true }).lines, ['42'])
})

t.test('a literal record has None for omitted optional members', t => {
  const { lines, error } = run(`
type Options { name: str
    size: int = 3
    note: Option[str] }
fn main() {
    let options = Options { name: "a" }
    print(options.note.is_none(), options.size, Options { name: "b", note: Some("n") }.note)
}`)
  t.equal(error, null)
  t.same(lines, ['true 3 Some(n)'])
  t.end()
})

t.test('JSON keeps 64-bit integers, is compared by content, and its elements are values', t => {
  const { lines, error } = run(`
fn main() {
    let json = std.json.parse("{\\"a\\": 9007199254740993, \\"b\\": [1, 2]}").unwrap()
    print(json)
    print(json is std.json.parse("{\\"b\\": [1, 2], \\"a\\": 9007199254740993}").unwrap())
    for n in json.b { print(n + 1) }
}`)
  t.equal(error, null)
  t.same(lines, ['{"a":9007199254740993,"b":[1,2]}', 'true', '2', '3'])
  t.end()
})

t.test('a function without a body cannot be run', async t => {
  for (const decorator of ['@ai', '@hole', '@prompt', '@subagent', '@search']) {
    const { code, error } = run(`${decorator} fn later(n: int) to int\nfn main() { print(later(1)) }`)
    t.equal(code, 'RUN_UNSUPPORTED', decorator)
    t.match(error?.message, 'later, which has no body, cannot be run here', decorator)
  }
})
