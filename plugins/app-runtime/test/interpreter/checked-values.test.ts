import t from 'tap'
import { withTables } from '../database/with-tables.ts'
import { run } from '../run-program.ts'

const TYPES = `
type Point { x: float  y: float = 1.5  label: Option[str] }
type Shape = | Circle(r: float) | Named(name: str, tags: List[str]) | Dot
type Tree { value: int  left: Option[Tree]  right: Option[Tree] }
fn of(text: str) to any { return std.json.parse(text).unwrap().v }
`

/** Returns what a variable of the type prints after the member \`v\` of the JSON is assigned to it, or the failure. */
function assigned(type: string, json: string): string {
  const text = JSON.stringify(`{"v": ${json}}`)
  const { lines, error } = run(`${TYPES}\nfn main() {\n    let value: ${type} = of(${text})\n    print(value)\n}\n`)
  return error === null ? lines.join('\n') : error.message.replace(/^program\.vox:\d+:\d+: /, 'RUN_TYPE ')
}

const ACCEPTED: readonly (readonly [type: string, json: string, printed: string])[] = [
  ['int', '7', '7'],
  ['int', '9223372036854775807', '9223372036854775807'],
  ['float', '1.5', '1.5'],
  ['str', '"a"', 'a'],
  ['char', '"é"', 'é'],
  ['bool', 'true', 'true'],
  ['dec', '"1.50"', '1.50'],
  ['dec', '3', '3'],
  ['Option[int]', 'null', 'None'],
  ['Option[int]', '1', 'Some(1)'],
  ['List[int]', '[]', '[]'],
  ['List[Option[str]]', '["a", null]', '[Some(a), None]'],
  ['Map[str, List[int]]', '{"a": [1], "b": []}', '{a: [1], b: []}'],
  ['(int, str)', '[1, "a"]', '(1, a)'],
  ['Result[int]', '{"_tag": "Ok", "value": 3}', 'Ok(3)'],
  ['Result[int]', '{"_tag": "Err", "value": "no"}', 'Error(no)'],
  ['Point', '{"x": 0.5}', '{x: 0.5, y: 1.5, label: None}'],
  ['Point', '{"x": 0.5, "y": 2.5, "label": "p"}', '{x: 0.5, y: 2.5, label: Some(p)}'],
  ['Shape', '{"_tag": "Dot"}', 'Dot'],
  ['Shape', '{"_tag": "Named", "tags": ["t"], "name": "n"}', 'Named(n, [t])'],
  [
    'Tree',
    '{"value": 1, "right": {"value": 2}}',
    '{value: 1, right: Some({value: 2, left: None, right: None}), left: None}'
  ],
  ['Json', '[1, {"a": null}]', '[1,{"a":null}]'],
  ['Json', '"a"', '"a"'],
  ['List[any]', '[1, {"a": 2}]', '[1, {"a":2}]'],
  ['any', '[1, {"a": 2}]', '[1,{"a":2}]']
]

t.test('JSON becomes a value of the type that its place requires', async t => {
  for (const [type, json, printed] of ACCEPTED) t.equal(assigned(type, json), printed, `${type} of ${json}`)
})

const REFUSED: readonly (readonly [type: string, json: string, reason: string])[] = [
  ['int', '"7"', 'the value: expected int, found str 7'],
  ['int', '1.5', 'the value: expected int, found float 1.5'],
  ['int', 'null', 'the value: expected int, found null null'],
  ['float', '"1"', 'the value: expected float, found str 1'],
  ['str', '1', 'the value: expected str, found int 1'],
  ['char', '"ab"', 'the value: expected char, found str ab'],
  ['bool', '1', 'the value: expected bool, found int 1'],
  ['dec', '"x"', 'the value: expected dec, found str x'],
  ['Option[int]', '"a"', 'the value: expected int, found str a'],
  ['List[int]', '{"a": 1}', 'the value: expected List[int], found Json {"a":1}'],
  ['List[int]', '[1, "a"]', '[1]: expected int, found str a'],
  ['List[List[int]]', '[[1], [2, true]]', '[1][1]: expected int, found bool true'],
  ['Map[str, List[int]]', '{"a": [1], "b": [null]}', 'b[0]: expected int, found null null'],
  ['(int, str)', '[1]', 'the value: expected (int, str), found Json [1]'],
  ['(int, str)', '[1, 2]', '[1]: expected str, found int 2'],
  ['Result[int]', '3', 'the value: expected Result[int], found int 3'],
  ['Result[int]', '{"_tag": "Ok", "value": "a"}', 'value: expected int, found str a'],
  ['Point', '{"y": 1}', 'x: expected float, found nothing'],
  ['Point', '{"x": 1, "z": 2}', 'z: expected nothing, since Point has no such member, found 2'],
  ['Point', '[1]', 'the value: expected Point, found Json [1]'],
  ['List[Point]', '[{"x": 1}, {"x": 2, "label": 3}]', '[1].label: expected str, found int 3'],
  ['Shape', '{"_tag": "Square"}', 'the value: expected Shape, found Json {"_tag":"Square"}'],
  ['Shape', '{"_tag": "Circle"}', 'r: expected float, found nothing'],
  ['Shape', '{"_tag": "Named", "name": "n", "tags": [1]}', 'tags[0]: expected str, found int 1'],
  ['Tree', '{"value": 1, "left": {"value": 2, "right": {"value": "3"}}}', 'left.right.value: expected int, found str 3']
]

t.test('JSON of another type is refused with the place in the value', async t => {
  for (const [type, json, reason] of REFUSED) t.equal(assigned(type, json), `RUN_TYPE ${reason}`, `${type} of ${json}`)
})

t.test('a member that the type does not declare is refused, but kept in a record of known type', async t => {
  const program = (main: string) =>
    run(`type P { x: int  y: int = 3 }\nfn of(v: any) to P { v }\nfn main() {\n    ${main}\n}\n`)
  const refused = program('of({ x: 2, extra: 4 })')
  t.equal(refused.code, 'RUN_TYPE')
  t.match(refused.error?.message, /v\.extra: expected nothing, since P has no such member, found 4$/)
  const kept = program('let rs = [{ x: 2, extra: 4 }]\n    let ps: List[P] = rs\n    print(ps[0].y)')
  t.same([kept.error, kept.lines], [null, ['3']])
})

t.test('the failure names the checked value, and its position in the source', async t => {
  const { code, error } = run(
    `type Row { tags: List[str] }\nfn first(row: any) to str {\n    let row2: Row = row\n    row2.tags[0]\n}\nfn main() {\n    first({ tags: ["a", 1] })\n}\n`
  )
  t.equal(code, 'RUN_TYPE')
  t.equal(error?.message, 'program.vox:3:21: row.tags[1]: expected str, found int 1')
  t.same(error?.data?.calls[0], 'in first, called at program.vox:7:5')
})

/** Each place that requires a type, with a value \`v\` of type any. */
const PLACES: Readonly<Record<string, string>> = {
  'an argument': 'fn f(n: int) to int { n }\nfn main(v: any) { f(v) }',
  'an argument of a lambda': 'fn main(v: any) {\n    let f = fn(n: int) n + 1\n    f(v)\n}',
  'a result': 'fn f(v: any) to int { return v }\nfn main(v: any) { f(v) }',
  'the last value of a function': 'fn f(v: any) to int { v }\nfn main(v: any) { f(v) }',
  'a variable': 'fn main(v: any) { let n: int = v }',
  'an assignment': 'fn main(v: any) {\n    let mut n = 1\n    n = v\n}',
  'a member of a struct': 'type S { n: int }\nfn main(v: any) { let s = S { n: v } }',
  'a field of a variant': 'type V = | A(n: int) | B\nfn main(v: any) { let s = A(v) }',
  'an argument of a method': 'fn main(v: any) { "a".repeat(v) }',
  'a branch': 'fn main(v: any) { let n: int = if true { v } else { 1 } }',
  'an argument of a handler': 'actor A {\n    on add(n: int) to int { n }\n}\nfn main(v: any) { spawn(A).add(v) }'
}

for (const [place, text] of Object.entries(PLACES)) {
  t.test(`a value of any type is checked in ${place}`, async t => {
    const { code, error } = run(text.replace('main(v: any) {', 'main() {\n    let v: any = "x"\n'))
    t.equal(code, 'RUN_TYPE')
    t.match(error?.message, /: v: expected int, found str x$/)
  })
}

t.test('a lambda that returns any gives values of the type that is declared', async t => {
  const text = (items: string) =>
    `fn main() {\n    let f = fn(v: any) v\n    let xs: List[int] = ${items}.map(fn(v) f(v))\n    print(xs)\n}\n`
  t.same(run(text('[1, 2]')).lines, ['[1, 2]'])
  t.equal(run(text('["a"]')).code, 'RUN_TYPE')
})

t.test('rows of raw SQL are checked where a type is required', async t => {
  const { call } = withTables(`
@table
type Task { title: str  note: Option[str]  rank: float }
type Line { title: str  note: Option[str]  rank: float }
fn main() to List[any] {
    db.Task.insert({ title: "a", note: None, rank: 1 })
    db.Task.insert({ title: "b", note: Some("n"), rank: 2.5 })
    let lines: List[Line] = db.query("SELECT title, note, rank FROM task ORDER BY title")
    let total = lines.fold(0.0, fn(sum, line) sum + line.rank)
    [lines, total]
}
fn wrong() {
    let lines: List[Line] = db.query("SELECT title, note, title AS rank FROM task")
    lines
}`)
  t.same(call('main'), [
    [
      new Map<string, unknown>([
        ['title', 'a'],
        ['note', { tag: 'None', fields: [], names: [] }],
        ['rank', { value: 1 }]
      ]),
      new Map<string, unknown>([
        ['title', 'b'],
        ['note', { tag: 'Some', fields: ['n'], names: [] }],
        ['rank', { value: 2.5 }]
      ])
    ],
    { value: 3.5 }
  ])
  t.throws(() => call('wrong'), { code: 'RUN_TYPE', message: /\[0\]\.rank: expected float, found str a/ })
})

t.test('a check counts steps for each part of the value, and none where any value is accepted', async t => {
  const text = (type: string) =>
    `fn main() {\n    let xs: any = range(100000)\n    let ys: ${type} = xs\n    print(ys.len())\n}\n`
  t.same(run(text('List[int]'), { limits: { steps: 150_000 } }).lines, ['100000'])
  t.equal(run(text('List[int]'), { limits: { steps: 50_000 } }).code, 'RUN_STEP_LIMIT')
  t.same(run(text('List[any]'), { limits: { steps: 50_000 } }).lines, ['100000'])
  t.same(run(text('any'), { limits: { steps: 50_000 } }).lines, ['100000'])
})

t.test('a check keeps a value that needs no conversion, and does not change one that does', async t => {
  const { lines } = run(`type P { x: float  y: float }
fn main() {
    let v: any = { x: 1, y: 2.5 }
    let p: P = v
    let mut q = p
    q.x = 3.5
    print(v, p, q)
}
`)
  t.same(lines, ['{x: 1, y: 2.5} {x: 1, y: 2.5} {x: 3.5, y: 2.5}'])
})

t.test('a value that is nested too deep for a check ends the program with a limit', async t => {
  const { code } = run(
    `type Tree { next: Option[Tree] }
fn main() {
    let mut v: any = { next: None }
    for i in range(200000) { v = { next: Some(v) } }
    let tree: Tree = v
    print(tree.next.is_some())
}
`,
    { limits: { steps: 1e9 } }
  )
  t.equal(code, 'RUN_STACK_LIMIT')
})

t.test('a struct takes the 0 and 1 of a row of raw SQL for its bools, and no other int', async t => {
  const { call } = withTables(`
@table
type Task { title: str  done: bool  sure: Option[bool]  count: int }
type Line { done: bool  sure: Option[bool]  count: int }
type Flag { done: bool }
fn lines() to List[Line] { db.query("SELECT done, sure, count FROM task ORDER BY _id") }
fn tasks() to List[Task] { db.query("SELECT * FROM task ORDER BY _id") }
fn main() to str {
    db.Task.insert({ title: "a", done: true, sure: Some(false), count: 1 })
    db.Task.insert({ title: "b", done: false, sure: None, count: 0 })
    str(lines()) + " " + str(tasks().filter(fn(task) task.done).len()) + " " + str(tasks() is db.Task.all().order_by("_id"))
}
fn first() to Line { db.query("SELECT done, sure, count FROM task ORDER BY _id")[0] }
fn both() to bool {
    let line = first()
    line.done and not line.sure.unwrap_or(true)
}
fn two() to List[Flag] { db.query("SELECT 2 AS done") }
fn text() to List[Flag] { db.query("SELECT 'true' AS done") }
fn value(row: any) to Flag { row }
`)
  const lines = '[{done: true, sure: Some(false), count: 1}, {done: false, sure: None, count: 0}]'
  t.equal(call('main'), `${lines} 1 true`)
  t.equal(call('both'), true)
  for (const [name, found] of [
    ['two', 'int 2'],
    ['text', 'str true']
  ] as const) {
    t.throws(() => call(name), { code: 'RUN_TYPE', message: new RegExp(`done.*bool.*${found}`) })
  }
  t.throws(() => call('value', new Map([['done', 1]])), { code: 'RUN_TYPE' }, 'other records have bools')
})
