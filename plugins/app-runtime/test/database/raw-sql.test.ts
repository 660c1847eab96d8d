import t from 'tap'
import { display } from '#interpreter'
import { withTables } from './with-tables.ts'

const TASKS = '@table\ntype Task { title: str  done: bool  rate: float }\n'

/** The compiler reports chains with SQL as an error, but the runtime supports them. */
function raw(body: string) {
  const tables = withTables(`${TASKS}fn fill() {
    db.Task.insert({ title: "a", done: true, rate: 0.5 })
    db.Task.insert({ title: "b", done: false, rate: 1.5 })
}
fn main(q: any) to any { ${body} }`)
  tables.call('fill')
  return tables
}

t.test('db.query returns rows as records, and takes positional parameters', async t => {
  const { call } = raw('db.query("SELECT title, rate, NULL AS blank FROM task WHERE title = ? OR done = ?", [q, true])')
  t.equal(display(call('main', 'b')), '[{title: a, rate: 0.5, blank: None}, {title: b, rate: 1.5, blank: None}]')
  t.equal(display(call('main', "b' OR 1=1 --")), '[{title: a, rate: 0.5, blank: None}]')
})

t.test('db.query can write, but accepts only one statement, and no writes in a read-only transaction', async t => {
  const { call, database } = raw('db.query(q)')
  t.equal(display(call('main', "UPDATE task SET title = 'c' WHERE _id = 1 RETURNING _id")), '[{_id: 1}]')
  t.equal(display(call('main', 'SELECT title FROM task ORDER BY _id')), '[{title: c}, {title: b}]')
  t.throws(() => call('main', 'SELECT 1; DELETE FROM task'), { code: 'RUN_DATABASE', message: /second statement/ })
  t.throws(() => call('main', "ATTACH 'x' AS y"), { code: 'RUN_DATABASE' })
  t.throws(() => call('main', 'SELEC 1'), { code: 'RUN_DATABASE', message: /syntax error/ })
  t.throws(() => call('main', 'SELECT ?'), { code: 'RUN_TYPE', message: /has 1 parameter/ })
  t.throws(() => database.transaction('read', () => call('main', 'DELETE FROM task')), { code: 'RUN_DATABASE' })
})

t.test('a database error of raw SQL is an Error if a Result is expected', async t => {
  const { call } = raw('match db.query(q) { Ok(rows) => len(rows), Error(why) => "no" }')
  t.equal(call('main', 'SELECT * FROM task'), 2)
  t.equal(call('main', 'SELECT * FROM nothing'), 'no')
})
