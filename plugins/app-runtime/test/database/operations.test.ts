import t from 'tap'
import { display } from '#interpreter'
import { withTables } from './with-tables.ts'

const TASKS = `
@table
type Task {
    title: str
    done: bool
    priority: int
    note: Option[str]
}
fn fill() {
    db.Task.insert({ title: "wash", done: false, priority: 2, note: None })
    db.Task.insert({ title: "Cook", done: true, priority: 1, note: Some("soup") })
    db.Task.insert({ title: "100% of_it", done: false, priority: 3, note: Some("") })
}
`

function shown(declarations: string, body: string): string {
  const { call, lines } = withTables(`${declarations}\nfn main() {\n${body}\n}\n`)
  call('main')
  return lines.join('\n')
}

/** Titles of the rows that a chain returns, in order. */
function titles(chain: string): string {
  return shown(TASKS, `fill()\nprint(${chain}.map(fn(each) each.title))`)
}

t.test('a text is no key of a row', async t => {
  const { call } = withTables(`${TASKS}
fn find(key: str) to Option[Task] { db.Task.get(key) }`)
  t.throws(() => call('find', '1'), { code: 'RUN_TYPE' })
})

t.test('rows are inserted, found, changed and deleted', async t => {
  const { call } = withTables(`${TASKS}
fn main() to List[any] {
    let id = db.Task.insert({ title: "a", done: false, priority: 1 })
    db.Task.update(id, { title: "b", note: "n" })
    let found = db.Task.get(id)
    db.Task.delete(id)
    [id, found, db.Task.find(id), db.Task.count(), db.Task.all()]
}`)
  t.equal(display(call('main')), '[1, Some({_id: 1, title: b, done: false, priority: 1, note: Some(n)}), None, 0, []]')
})

t.test('where supports every operator', async t => {
  const cases: Record<string, string> = {
    'priority: 2': '[wash]',
    'priority: { eq: 1 }': '[Cook]',
    'priority: { neq: 1 }': '[wash, 100% of_it]',
    'priority: { ne: 1 }': '[wash, 100% of_it]',
    'priority: { lt: 2 }': '[Cook]',
    'priority: { lte: 2 }': '[wash, Cook]',
    'priority: { gt: 2 }': '[100% of_it]',
    'priority: { gte: 2 }': '[wash, 100% of_it]',
    'priority: { gte: 2, lt: 3 }': '[wash]',
    'priority: { in: [1, 3] }': '[Cook, 100% of_it]',
    'title: { contains: "oo" }': '[Cook]',
    'title: { contains: "%" }': '[100% of_it]',
    'title: { contains: "f_i" }': '[100% of_it]',
    'title: { contains: "_" }': '[100% of_it]',
    'note: { is_null: true }': '[wash]',
    'note: { is_null: false }': '[Cook, 100% of_it]',
    'note: { eq: None }': '[wash]',
    'note: { neq: None }': '[Cook, 100% of_it]',
    'note: { neq: "soup" }': '[100% of_it]',
    'note: "soup"': '[Cook]',
    'or: [{ priority: 1 }, { title: "wash" }]': '[wash, Cook]',
    'and: [{ done: false }, { priority: { gt: 2 } }]': '[100% of_it]',
    'not: { done: true }': '[wash, 100% of_it]',
    'done: false, priority: 2': '[wash]',
    '_id: { gt: 1 }': '[Cook, 100% of_it]'
  }
  for (const [where, expected] of Object.entries(cases)) t.equal(titles(`db.Task.where({ ${where} })`), expected, where)
})

t.test('`in` accepts a list that is known only at run time', async t => {
  t.equal(
    shown(TASKS, 'fill()\nlet wanted = [3, 1, 9]\nprint(db.Task.where({ priority: { in: wanted } }).count())'),
    '2'
  )
  t.equal(
    shown(TASKS, 'fill()\nlet names = ["wash", "it\'s"]\nprint(db.Task.where({ title: { in: names } }).count())'),
    '1'
  )
})

t.test('order, limit, count and projections are supported', async t => {
  t.equal(titles('db.Task.all().order_by("priority", "desc")'), '[100% of_it, wash, Cook]')
  t.equal(titles('db.Task.all().order_by("priority").limit(2)'), '[Cook, wash]')
  t.equal(titles('db.Task.filter({ done: false }).order_by("title", "asc").limit(1)'), '[100% of_it]')
  t.equal(shown(TASKS, 'fill()\nprint(db.Task.count(), db.Task.filter({ done: false }).count())'), '3 2')
  t.equal(
    shown(TASKS, 'fill()\nprint(db.Task.all().select("title").limit(1))'),
    '[{_id: 1, title: wash, note: None}]',
    'unselected optional columns are None, and the others are missing'
  )
  t.equal(shown(TASKS, 'fill()\nprint(db.Task.all().sync().scope("s").limit(0))'), '[]')
})
