import fc from 'fast-check'
import t from 'tap'
import { display, isRecord, type Value } from '#interpreter'
import { withTables } from './with-tables.ts'

const NOTES = `
@table type Author { name: str }
@table
type Note {
    title: str
    rank: Option[int]
    price: dec
    author: Id[Author]
    editor_id: Option[Id[Author]]
}
@mutation fn add(title: str, rank: Option[int], price: dec) to int {
    db.Note.insert({ title: title, rank: rank, price: price, author: 1, editor_id: None })
}
`

function pages(declarations: string) {
  const tables = withTables(NOTES + declarations)
  /** Titles of all pages of a function, page by page. */
  const all = (name: string, size: number, between: (page: number) => void = () => undefined): string[][] => {
    const titles: string[][] = []
    let cursor: Value = null
    for (let page = 0; page < 100; page++) {
      const found = tables.call(name, size, cursor)
      if (!isRecord(found)) throw new Error('no page')
      titles.push(
        (found.get('items') as Value[]).map(each => display((each as Map<string, Value>).get('title') ?? null))
      )
      const next = display(found.get('next') ?? null)
      if (next === 'None') return titles
      cursor = next.slice('Some('.length, -1)
      between(page)
    }
    throw new Error('the pages do not end')
  }
  const insert = (title: string, rank: number | null = null, price = '1'): void => {
    tables.database.execute('note', 'INSERT INTO note (title, rank, price, author) VALUES (?, ?, ?, 1)', [
      title,
      rank,
      price
    ])
  }
  return { ...tables, all, insert }
}

const QUERIES = `
fn by_id(size: int, cursor: Option[str]) to Page[Note] { db.Note.all().page(size, cursor) }
fn by_rank(size: int, cursor: Option[str]) to Page[Note] { db.Note.all().order_by("rank").page(size, cursor) }
fn by_rank_down(size: int, cursor: Option[str]) to Page[Note] { db.Note.all().order_by("rank", "desc").page(size, cursor) }
fn by_price(size: int, cursor: Option[str]) to Page[Note] { db.Note.all().order_by("price").page(size, cursor) }
fn by_title_down(size: int, cursor: Option[str]) to Page[Note] { db.Note.where({ or: [{ rank: { gte: 0 } }, { rank: { is_null: true } }] }).order_by("title", "desc").page(size, cursor) }
`

t.test('pages follow each other until the last, which has no cursor', async t => {
  const { all, insert } = pages(QUERIES)
  t.same(all('by_id', 2), [[]])
  for (const title of ['a', 'b', 'c', 'd']) insert(title)
  t.same(all('by_id', 3), [['a', 'b', 'c'], ['d']])
  t.same(all('by_id', 2), [
    ['a', 'b'],
    ['c', 'd']
  ])
  t.same(all('by_title_down', 3), [['d', 'c', 'b'], ['a']])
})

t.test('rows that are inserted or deleted between pages neither repeat nor hide other rows', async t => {
  const { all, insert, database } = pages(QUERIES)
  for (const title of ['b', 'd', 'f', 'h']) insert(title)
  const found = all('by_title_down', 2, page => {
    if (page > 0) return
    insert('z')
    insert('e')
    database.execute('note', 'DELETE FROM note WHERE title = ?', ['f'])
  })
  t.same(found, [['h', 'f'], ['e', 'd'], ['b']])
})

t.test('random rows are returned once each and in order, whatever the page size', async t => {
  const { call, all, insert } = pages(`${QUERIES}
fn clear() { for each in db.Note.all() { db.Note.delete(each._id) } }
fn whole(name: str) to List[str] {
    let rows = match name {
        "by_rank" => db.Note.all().order_by("rank")
        "by_rank_down" => db.Note.all().order_by("rank", "desc")
        "by_price" => db.Note.all().order_by("price")
        "by_title_down" => db.Note.all().order_by("title", "desc")
        _ => db.Note.all().order_by("_id")
    }
    rows.map(fn(row) row.title)
}`)
  const row = fc.record({
    title: fc.string({ maxLength: 3 }),
    rank: fc.option(fc.integer({ min: 0, max: 3 })),
    price: fc.constantFrom('1', '1.0', '-2.5', '10', '9')
  })
  fc.assert(
    fc.property(fc.array(row, { maxLength: 9 }), fc.integer({ min: 1, max: 4 }), (rows, size) => {
      call('clear')
      for (const { title, rank, price } of rows) insert(title, rank, price)
      for (const name of ['by_id', 'by_rank', 'by_rank_down', 'by_price', 'by_title_down']) {
        t.same(all(name, size).flat(), (call('whole', name) as Value[]).map(display), name)
      }
    }),
    { numRuns: 40 }
  )
})

t.test('a cursor of another query and a changed cursor are refused', async t => {
  const { call, insert } = pages(QUERIES)
  for (const title of ['a', 'b']) insert(title)
  const page = call('by_id', 1, null) as Map<string, Value>
  const cursor = display(page.get('next') ?? null).slice('Some('.length, -1)
  const changed = Buffer.from(cursor, 'base64url')
  changed[changed.length - 3] = (changed.at(-3) ?? 0) ^ 1
  for (const [name, text] of [
    ['by_rank', cursor],
    ['by_id', changed.toString('base64url')],
    ['by_id', 'x'],
    ['by_id', '']
  ] as const) {
    t.throws(() => call(name, 1, text), { code: 'RUN_CURSOR' }, `${name} ${text}`)
  }
  t.throws(() => call('by_id', 0, null), { code: 'RUN_ARGUMENTS' })
  t.throws(() => call('by_id', -1, null), { code: 'RUN_ARGUMENTS' })
})

t.test('an offset skips rows in the order of the query', async t => {
  const { call, insert } = pages(`
fn some(limit: int, offset: int) to List[Note] { db.Note.all().order_by("title").offset(offset).limit(limit) }
fn rest(offset: int) to List[Note] { db.Note.all().offset(offset) }`)
  for (const title of ['c', 'a', 'b']) insert(title)
  const titles = (value: Value): string[] =>
    (value as Map<string, Value>[]).map(row => display(row.get('title') ?? null))
  t.same(titles(call('some', 2, 1)), ['b', 'c'])
  t.same(titles(call('some', 2, 9)), [])
  t.same(titles(call('rest', 1)), ['a', 'b'])
  t.throws(() => call('rest', -1), { code: 'RUN_ARGUMENTS' })
})

t.test('a referenced row is loaded with one statement for all rows', async t => {
  const { call, database } = withTables(`${NOTES}
fn fill() {
    let ann = db.Author.insert({ name: "Ann" })
    let bob = db.Author.insert({ name: "Bob" })
    db.Note.insert({ title: "a", rank: 1, price: 1dec, author: ann, editor_id: bob })
    db.Note.insert({ title: "b", rank: 2, price: 1dec, author: bob, editor_id: None })
    db.Note.insert({ title: "c", rank: 3, price: 1dec, author: 99, editor_id: ann })
}
fn notes() to any { db.Note.all().order_by("rank").include("author").include("editor") }
fn short() to any { db.Note.where({ rank: { lte: 1 } }).select("title").include("editor") }
fn one(id: int) to any { db.Note.get(id).include("author") }
fn names() to List[str] {
    db.Note.all().include("author").map(fn(note) match note.author { Some(author) => author.name, None => "-" })
}
fn paged() to any { db.Note.all().order_by("rank").include("author").page(1).items }`)
  call('fill')
  const before = database.statements
  t.equal(
    display(call('notes')),
    '[{_id: 1, title: a, rank: Some(1), price: 1, author: Some({_id: 1, name: Ann}), editor_id: Some(2), editor: Some({_id: 2, name: Bob})}, ' +
      '{_id: 2, title: b, rank: Some(2), price: 1, author: Some({_id: 2, name: Bob}), editor_id: None, editor: None}, ' +
      '{_id: 3, title: c, rank: Some(3), price: 1, author: None, editor_id: Some(1), editor: Some({_id: 1, name: Ann})}]'
  )
  t.equal(database.statements - before, 3)
  t.match(display(call('short')), /^\[\{_id: 1, title: a, rank: None, editor: Some\(\{_id: 2, name: Bob\}\)\}\]$/)
  t.match(display(call('one', 2)), /^Some\(.*author: Some\(\{_id: 2, name: Bob\}\)/)
  t.equal(display(call('one', 7)), 'None')
  t.equal(display(call('names')), '[Ann, Bob, -]')
  t.match(display(call('paged')), /^\[\{_id: 1, .*author: Some\(\{_id: 1, name: Ann\}\)/)
})
