import t from 'tap'
import { ProgramDatabase } from '#database'
import { display, Interpreter } from '#interpreter'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'
import { withTables } from './with-tables.ts'

const DOCS = `
@table
type Doc { title: str  body: str  author: str  embedding: Tensor[2]  score: int }
@search_index Doc.words on (title, body)
@vector_index Doc.meaning on (embedding)

fn add(title: str, body: str, author: str, x: float, y: float) {
    db.Doc.insert({ title: title, body: body, author: author, embedding: [x, y], score: 1 })
}
fn fill() {
    add("Apples", "red apples and green apples", "Ann", 1.0, 0.0)
    add("Pears", "a pear is not an apple", "Ben", 0.7, 0.7)
    add("Trains", "they run on rails", "Ann", 0.0, 1.0)
}
fn titles(rows: List[Doc]) to any { rows.map(fn(doc) doc.title) }
`

function found(chain: string, parameter = 'q: str', given: unknown = 'apples'): string {
  const { call } = withTables(`${DOCS}fn find(${parameter}) to any { titles(db.Doc.${chain}) }`)
  call('fill')
  return display(call('find', given as string))
}

t.test('words are found in the requested columns, best match first', async t => {
  t.equal(found('where({ body: { contains: q } }).using("fts")'), '[Apples]')
  t.equal(
    found('where({ or: [{ title: { contains: q } }, { body: { contains: "apple" } }] }).using("fts")'),
    '[Apples, Pears]'
  )
  t.equal(found('where({ body: { contains: q } }).using("search").limit(1)', 'q: str', 'a'), '[Pears]')
  t.equal(found('filter({ body: q }).using("fts")', 'q: str', 'RAILS they'), '[Trains]')
  t.equal(found('where({ body: { contains: q }, author: "Ben" }).using("fts")', 'q: str', 'apple'), '[Pears]')
  t.equal(found('where({ not: { body: { contains: q } } }).using("fts")'), '[Pears, Trains]')
  t.equal(found('where({ body: { contains: q } }).using("fts").order_by("title", "desc")', 'q: str', 'a'), '[Pears]')
})

t.test('search operators in a query are treated as words', async t => {
  for (const words of ['"', 'title:x', 'a* OR b', 'NEAR(a b)', '(', '-', '^x', "'; DROP TABLE doc", '', '\u{1F600}']) {
    t.equal(found('where({ body: { contains: q } }).using("fts")', 'q: str', words), '[]', words)
  }
})

t.test('the index follows changes and deletions', async t => {
  const { call } = withTables(`${DOCS}
fn find(q: str) to any { titles(db.Doc.where({ body: { contains: q } }).using("fts")) }
fn change() {
    db.Doc.update(1, { body: "plums" })
    db.Doc.delete(2)
}`)
  call('fill')
  call('change')
  t.equal(display(call('find', 'apple')), '[]')
  t.equal(display(call('find', 'plums')), '[Apples]')
})

t.test('the nearest rows come first, with an index or a scan', async t => {
  t.equal(found('filter({ embedding: [q, 0.1] }).using("vector").limit(2)', 'q: float', 1), '[Apples, Pears]')
  t.equal(found('filter({ embedding: [q, 0.1] }).using("vector")', 'q: float', 0), '[Trains, Pears, Apples]')
  t.equal(
    found('filter({ embedding: [q, 0.1], author: "Ann" }).using("vector").limit(2)', 'q: float', 1),
    '[Apples, Trains]'
  )
})

t.test('`contains` finds the nearest rows, too', async t => {
  t.equal(found('where({ embedding: { contains: [q, 0.1] } }).using("vector").limit(1)', 'q: float', 1), '[Apples]')
})

t.test('a hybrid search combines words and vectors', async t => {
  const both = 'where({ body: { contains: q }, embedding: { eq: [0.0, 1.0] } }).using("hybrid")'
  t.equal(found(`${both}.limit(3)`, 'q: str', 'rails'), '[Trains, Pears, Apples]')
  t.equal(found(`${both}.limit(1)`, 'q: str', 'apples'), '[Apples]')
  t.equal(found('where({ body: { contains: q } }).using("hybrid")'), '[Apples]', 'words only')
  t.equal(found('where({ embedding: [1.0, 0.0] }).using("hybrid").limit(1)'), '[Apples]', 'nearness only')
})

t.test('matches can be counted and projected', async t => {
  const { call } = withTables(`${DOCS}
fn main() to any {
    [db.Doc.where({ body: { contains: "apple" } }).using("fts").count(),
     db.Doc.where({ body: { contains: "rails" } }).using("fts").select("title")]
}`)
  call('fill')
  t.equal(display(call('main')), '[1, [{_id: 3, title: Trains}]]')
})

t.test('inserts return the id of the row, despite triggers', async t => {
  const { call } = withTables(`
@table
type Note { text: str }
@search_index Note.words on (text)
fn add(text: str) to int { db.Note.insert({ text: text }) }
@query fn watch() to any { db.Note.all().live("notes") }`)
  t.same(
    ['a', 'b', 'c'].map(text => call('add', text)),
    [1, 2, 3]
  )
})

t.test('a search that the database does not support is an error', async t => {
  const { connection } = withTables(DOCS)
  const program = programFrom(`${DOCS}fn find() to any { db.Doc.where({ body: { contains: "x" } }).using("fts") }`)
  const capabilities = { fts: false, vector: false }
  const database = new ProgramDatabase({ connection, location: 'x', capabilities })
  const interpreter = new Interpreter(program, { ...hostOf([]), database })
  t.throws(() => interpreter.call('find', [], LIMITS), {
    code: 'RUN_UNSUPPORTED',
    message: /Doc: .*no full-text search/
  })
})
