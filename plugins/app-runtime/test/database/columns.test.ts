import t from 'tap'
import { display } from '#interpreter'
import { withTables } from './with-tables.ts'

const KINDS = `
type Shape =
    | Circle(radius: float)
    | Empty
type Point { x: int  y: int }
@table
type Kind {
    whole: int
    ratio: float
    text: str
    yes: bool
    letter: char
    money: dec
    other: Id[Kind]
    tags: List[str]
    sizes: Map[str, int]
    shape: Shape
    point: Point
    near: Tensor[3]
    maybe_whole: Option[int]
    maybe_yes: Option[bool]
    maybe_money: Option[dec]
    maybe_tags: Option[List[int]]
    maybe_point: Option[Point]
}
`

const ROW = `whole: 9007199254740993, ratio: 2.0, text: "it's \\"x\\" \u{1F600}", yes: true, letter: "é", money: 1.50dec,
    other: 7, tags: ["a", ""], sizes: { a: 1 }, shape: Circle(1.5), point: { x: -1, y: 2 }, near: [0.5, -1.0, 2]`

t.test('every column type is read as it was written', async t => {
  const { call } = withTables(`${KINDS}
fn main() to List[any] {
    let full = db.Kind.insert({ ${ROW}, maybe_whole: Some(-5), maybe_yes: Some(false), maybe_money: 0.10dec,
        maybe_tags: Some([1]), maybe_point: Some({ x: 0, y: 0 }) })
    let empty = db.Kind.insert({ ${ROW.replace('Circle(1.5)', 'Empty')} })
    [db.Kind.get(full), db.Kind.get(empty)]
}`)
  const same =
    'whole: 9007199254740993, ratio: 2, text: it\'s "x" \u{1F600}, yes: true, letter: é, money: 1.50, other: 7, ' +
    'tags: [a, ], sizes: {a: 1}'
  const rest = 'point: {x: -1, y: 2}, near: [0.5, -1, 2]'
  t.equal(
    display(call('main')),
    `[Some({_id: 1, ${same}, shape: Circle(1.5), ${rest}, maybe_whole: Some(-5), maybe_yes: Some(false), ` +
      'maybe_money: Some(0.10), maybe_tags: Some([1]), maybe_point: Some({x: 0, y: 0})}), ' +
      `Some({_id: 2, ${same}, shape: Empty, ${rest}, maybe_whole: None, maybe_yes: None, maybe_money: None, ` +
      'maybe_tags: None, maybe_point: None})]'
  )
})

t.test('columns are stored as native SQL types', async t => {
  const { call, connection } = withTables(`${KINDS}fn main() { db.Kind.insert({ ${ROW} }) }`)
  call('main')
  const sql = `SELECT typeof(whole), typeof(ratio), typeof(yes), yes, typeof(money), money, tags, shape, sizes,
    typeof(near), length(near), typeof(maybe_whole) FROM kind`
  t.same(connection.row(sql), [
    'integer',
    'real',
    'integer',
    1,
    'text',
    '1.50',
    '["a",""]',
    '{"_tag":"Circle","radius":1.5}',
    '{"a":1}',
    'blob',
    12,
    'null'
  ])
})

t.test('decimals are compared as numbers', async t => {
  const { call } = withTables(`
@table
type Bill { total: dec  rest: Option[dec] }
fn main() to List[any] {
    for each in [9.5dec, 10.25dec, 1.50dec, -3dec] { db.Bill.insert({ total: each, rest: Some(each) }) }
    [
        db.Bill.where({ total: { gt: 9.50dec } }).count(), db.Bill.filter({ total: 1.5dec }).count(),
        db.Bill.where({ rest: { neq: 9.5000dec } }).count(), db.Bill.where({ total: { in: [10.250dec, 1dec] } }).count(),
        db.Bill.all().order_by("total").map(fn(bill) bill.total)
    ]
}`)
  t.equal(display(call('main')), '[1, 1, 3, 1, [-3, 1.50, 9.5, 10.25]]')
})

t.test('an invalid value is reported with its column and position', async t => {
  const refused = (body: string, pattern: RegExp): void => {
    const { call, connection } = withTables(`${KINDS}fn main(v: any) {\n    ${body}\n}`)
    t.throws(() => call('main', 'x'), { message: pattern, code: 'RUN_TYPE' }, body)
    t.equal(connection.row('SELECT count(*) FROM kind')?.[0], 0)
  }
  refused(
    `db.Kind.insert({ ${ROW.replace('yes: true', 'yes: v')} })`,
    /^program\.vox:\d+:\d+: v: expected bool, found str x/
  )
  refused(
    `let n: any = 1\n db.Kind.insert({ ${ROW.replace('["a", ""]', '[v, n]')} })`,
    /: n: expected str, found int 1/
  )
  refused(`db.Kind.insert({ ${ROW.replace('-1.0, 2', '-1.0')} })`, /Kind: near: expected 3 numbers, found 2/)
  refused('db.Kind.where({ whole: { gt: v } })', /: v: expected int, found str x/)
  refused('db.Kind.get(v)', /: v: expected int, found str x/)
  refused('db.Kind.all().limit(v)', /: v: expected int, found str x/)
  refused('db.Kind.where({ text: { in: v } })', /: v: expected List\[str\], found str x/)
})

t.test('invalid values stored by another program are reported', async t => {
  const { call, connection } = withTables('@table\ntype T { yes: bool  tags: List[int] }\nfn main() { db.T.all() }')
  connection.execute('INSERT INTO t (yes, tags) VALUES (2, ?)', ['[]'])
  t.throws(() => call('main'), { code: 'RUN_TYPE', message: /T: yes: expected 0 or 1 in the database, found 2/ })
  connection.execute('UPDATE t SET yes = 1, tags = ?', ['["x"]'])
  t.throws(() => call('main'), { code: 'RUN_TYPE', message: /T: tags\[0\]: expected int, found "x"/ })
  connection.execute('UPDATE t SET tags = ?', ['['])
  t.throws(() => call('main'), { code: 'RUN_TYPE', message: /T: tags: expected JSON in the database/ })
})

t.test('rows can be inserted from JSON', async t => {
  const { call } = withTables(`
@table
type T { name: str  price: dec  tags: List[str]  note: Option[str]  size: float = 2.0 }
fn add(text: str) to any {
    let body = std.json.parse(text).unwrap()
    db.T.get(db.T.insert(body))
}
fn change(text: str) to any {
    db.T.update(1, std.json.parse(text).unwrap())
    db.T.get(1)
}
fn part(text: str) to any {
    let body = std.json.parse(text).unwrap()
    db.T.get(db.T.insert({ name: body.name, price: 1dec, tags: body.tags, note: body.note }))
}`)
  t.equal(
    display(call('add', '{"name": "a", "price": "1.50", "tags": ["x"], "note": null}')),
    'Some({_id: 1, name: a, price: 1.50, tags: [x], note: None, size: 2})'
  )
  t.equal(
    display(call('change', '{"note": "n", "size": 1}')),
    'Some({_id: 1, name: a, price: 1.50, tags: [x], note: Some(n), size: 1})'
  )
  t.equal(
    display(call('part', '{"name": "b", "tags": [], "note": "m"}')),
    'Some({_id: 2, name: b, price: 1, tags: [], note: Some(m), size: 2})'
  )
  t.throws(() => call('add', '{"name": 1}'), { code: 'RUN_TYPE', message: /T: name: expected str, found 1/ })
  t.throws(() => call('add', '{"name": "a", "admin": true}'), { code: 'RUN_ARGUMENTS', message: /no column admin/ })
  t.throws(() => call('part', '{"name": "b", "tags": [1], "note": null}'), {
    message: /: body.tags\[0\]: expected str/
  })
  t.throws(() => call('add', '[]'), { code: 'RUN_TYPE', message: /a row of T must be a record, found Json/ })
})

t.test('omitted columns get their default or None', async t => {
  const { call } = withTables(`
@table
type T { name: str  count: int = 3  note: Option[str] }
fn named() to any { db.T.get(db.T.insert(name = "a")) }
fn variable() to any {
    let row = { name: "b", note: "n" }
    db.T.get(db.T.insert(row))
}
fn again() to any {
    match db.T.get(1) { Some(row) => db.T.update(row._id, row), None => panic("gone") }
    db.T.get(1)
}
fn missing(row: any) { db.T.insert(row) }`)
  t.equal(display(call('named')), 'Some({_id: 1, name: a, count: 3, note: None})')
  t.equal(display(call('variable')), 'Some({_id: 2, name: b, count: 3, note: Some(n)})')
  t.equal(display(call('again')), 'Some({_id: 1, name: a, count: 3, note: None})')
  t.throws(() => call('missing', new Map([['count', 1]])), {
    code: 'RUN_ARGUMENTS',
    message: /T needs a value for name/
  })
  const unknown = new Map([
    ['name', 'x'],
    ['nmae', 'x']
  ])
  t.throws(() => call('missing', unknown), {
    code: 'RUN_ARGUMENTS',
    message: /T has no column nmae; it has name, count/
  })
})
