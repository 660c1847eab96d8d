import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { openMemory } from '@svc/plugin-database/testing'
import { isSvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { apply, freshName, namesIn, openStore, project, rowsOf, stepTexts } from './schema-fixture.ts'

const NOTES = '@table type Note { title: str  body: Option[str]  stars: int = 3 }\n'

async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await promise
  } catch (error) {
    if (isSvcError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('the migration was not refused')
}

async function filled(source = NOTES) {
  const store = await openStore()
  await apply(store, source)
  await store.execute("INSERT INTO note (title, body) VALUES ('one', NULL), ('two', 'second'), ('three', 'third')")
  return store
}

t.test('a migration creates the tables of a program, and a second one changes nothing', async t => {
  const store = await openStore()
  const first = await apply(store, `${NOTES}@index Note.by_title on (title, _id)\n`)
  t.same(stepTexts(first), ['safe Note is new, with the columns title, body, stars'])
  t.same(await namesIn(store), ['idx_note_by_title', 'note', 'program_schema'])
  await store.execute("INSERT INTO note (title) VALUES ('x')")
  t.same(await rowsOf(store, 'SELECT * FROM note'), [[1, 'x', null, 3]])
  await t.rejects(store.execute('INSERT INTO note (body) VALUES (1)'), { code: 'DBS_CONSTRAINT' })
  const second = await apply(store, `${NOTES}@index Note.by_title on (title, _id)\n`)
  t.same(second.plan.statements, [])
  t.same(stepTexts(second), [])
})

t.test('columns are stored as the SQL type of their declared type', async t => {
  const store = await openStore()
  await apply(
    store,
    `type Mood = | Good | Bad(why: str)
type Name = str
type Maybe = Option[Name]
@table type All { a: int b: float c: bool d: str e: char f: dec g: Id[All] h: List[int] i: Mood j: Option[dec] k: Name l: Maybe m: Tensor[4] n: any o: Option[Tensor[2]] }`
  )
  const columns = await rowsOf(store, 'SELECT name, type, "notnull" FROM pragma_table_xinfo(\'all\') ORDER BY cid')
  t.same(
    columns.map(row => row.join(' ')),
    [
      '_id INTEGER 0',
      'a INTEGER 1',
      'b REAL 1',
      'c INTEGER 1',
      'd TEXT 1',
      'e TEXT 1',
      'f TEXT 1',
      'g INTEGER 1',
      'h TEXT 1',
      'i TEXT 1',
      'j TEXT 0',
      'k TEXT 1',
      'l TEXT 0',
      'm F32_BLOB(4) 1',
      'n TEXT 1',
      'o F32_BLOB(2) 0'
    ]
  )
})

t.test('literal defaults become defaults of columns', async t => {
  const store = await openStore()
  const source = `@table type D { a: int = -5 b: float = 2.0 c: bool = true d: str = "it's" e: dec = 1.50dec f: List[int] = [1, 2] g: Option[int] = None h: Option[str] = Some("x") i: float = 1.25 k: str = "" }`
  await apply(store, source)
  await store.execute('INSERT INTO d DEFAULT VALUES')
  t.same(await rowsOf(store, 'SELECT * FROM d'), [[1, -5, 2, 1, "it's", '1.50', '[1,2]', null, 'x', 1.25, '']])
  t.same((await apply(store, source)).plan.statements, [], 'a second migration changes nothing')
})

t.test('defaults of JSON columns have the storage format of the program', async t => {
  const store = await openStore()
  const source = `type Point { x: float y: int }
type Mood = | Good | Bad(why: str, n: int)
@table type D { a: List[float] = [1.0, -2.5] b: Mood = Good c: Mood = Bad("it's", 2) d: Point = Point { x: 1.5, y: -1 } e: Map[str, dec] = { k: 1.50dec } f: List[Mood] = [Good] g: str = "" h: List[int] = [len("a")] }`
  await apply(store, source.replace('h: List[int] = [len("a")]', ''))
  await store.execute('INSERT INTO d DEFAULT VALUES')
  t.same(
    (await rowsOf(store, 'SELECT a, b, c, d, e, f FROM d'))[0]?.map(text => JSON.parse(String(text))),
    [
      [1, -2.5],
      { _tag: 'Good' },
      { _tag: 'Bad', why: "it's", n: 2 },
      { x: 1.5, y: -1 },
      { k: '1.50' },
      [{ _tag: 'Good' }]
    ]
  )
  const { code } = await refusal(apply(store, source))
  t.equal(code, 'RUN_SCHEMA_REFUSED', 'a default that is known only at run time is not a column default')
})

t.test('SQL keywords can be names of tables and columns', async t => {
  const store = await openStore()
  const source = '@table type Order { group: int select: str }\n@index Order.table on (group, select)\n'
  await apply(store, source)
  await store.execute('INSERT INTO "order" ("group", "select") VALUES (1, ?)', ['a'])
  await apply(store, `${source.replace('select: str }', 'select: Option[str] where_: int = 1 }')}`)
  t.same(await rowsOf(store, 'SELECT * FROM "order"'), [[1, 1, 'a', 1]])
})

t.test('lossless changes happen in place, and keep all rows', async t => {
  const store = await filled()
  const grown =
    '@table type Note { title: str  body: Option[str]  stars: int = 3  done: bool = false  due: Option[int] }\n'
  t.same(stepTexts(await apply(store, grown)), [
    'safe Note.done is new, and is 0 in existing rows',
    'safe Note.due is new, and is empty in existing rows'
  ])
  t.same(await rowsOf(store, 'SELECT * FROM note'), [
    [1, 'one', null, 3, 0, null],
    [2, 'two', 'second', 3, 0, null],
    [3, 'three', 'third', 3, 0, null]
  ])
  const changed =
    '@table type Note { title: Option[str]  body: str = "-"  stars: float = 4.5  done: bool  due: Option[int] }\n'
  const outcome = await apply(store, changed)
  t.ok(
    stepTexts(outcome).every(line => line.startsWith('safe')),
    stepTexts(outcome).join('\n')
  )
  await store.execute('INSERT INTO note (done) VALUES (1)')
  t.same(await rowsOf(store, 'SELECT _id, title, body, stars, done, due, typeof(stars) FROM note'), [
    [1, 'one', '-', 3, 0, null, 'real'],
    [2, 'two', 'second', 3, 0, null, 'real'],
    [3, 'three', 'third', 3, 0, null, 'real'],
    [4, null, '-', 4.5, 1, null, 'real']
  ])
  t.same((await apply(store, changed)).plan.statements, [])
})

t.test('row ids are not reused after a table is rebuilt', async t => {
  const store = await filled()
  await store.execute('DELETE FROM note WHERE _id > 1')
  await apply(store, NOTES.replace('stars: int', 'stars: float'))
  const { lastInsertId } = await store.execute("INSERT INTO note (title) VALUES ('four')")
  t.equal(lastInsertId, 4)
  await store.execute('DELETE FROM note')
  await apply(store, NOTES)
  t.equal((await store.execute("INSERT INTO note (title) VALUES ('five')")).lastInsertId, 5)
})

t.test('indexes are created, changed and dropped', async t => {
  const store = await filled(`${NOTES}@index Note.a on (title)\n@index Note.b on (stars)\n`)
  const outcome = await apply(store, `${NOTES}@index Note.a on (title, stars)\n@index Note.c on (body)\n`)
  t.same(stepTexts(outcome), [
    'safe Note loses its index idx_note_b',
    'safe Note gets another index idx_note_a',
    'safe Note gets the index idx_note_c'
  ])
  t.same(await namesIn(store), ['idx_note_a', 'idx_note_c', 'note', 'program_schema'])
})

t.test('a lossy change is refused with the plan, and changes nothing', async t => {
  const store = await filled()
  const { code, message } = await refusal(apply(store, '@table type Note { title: str  stars: int = 3 }\n'))
  t.equal(code, 'RUN_SCHEMA_LOSSY')
  t.match(message, /- Note\.body is dropped, with the values of 2 rows \[loses data\]/)
  t.equal((await rowsOf(store, 'SELECT body FROM note')).length, 3)
  const typed = await refusal(apply(store, '@table type Note { title: int  body: Option[int]  stars: int = 3 }\n'))
  t.equal(typed.code, 'RUN_SCHEMA_REFUSED')
  t.match(typed.message, /! Note\.title changes from str to int, but 3 rows cannot be converted/)
  t.match(typed.message, /- Note\.body changes from str to int, and 2 rows cannot be converted, and become empty/)
  t.same(await rowsOf(store, 'SELECT count(*), max(title) FROM note'), [[3, 'two']])
})

t.test('a lossy change with force is made after a copy', async t => {
  const store = await filled()
  const copy = freshName()
  const outcome = await apply(store, '@table type Note { title: str  stars: int = 3 }\n', {
    force: true,
    copyTo: async () => copy
  })
  t.equal(outcome.copy, copy)
  t.same(await rowsOf(store, 'SELECT * FROM note'), [
    [1, 'one', 3],
    [2, 'two', 3],
    [3, 'three', 3]
  ])
  const kept = await openStore(copy)
  t.same(await rowsOf(kept, 'SELECT body FROM note'), [[null], ['second'], ['third']])
})

t.test('a column without values is dropped without force', async t => {
  const store = await filled()
  await store.execute('UPDATE note SET body = NULL')
  t.same(stepTexts(await apply(store, '@table type Note { title: str  stars: int = 3 }\n')), [
    'safe Note.body is dropped, and has no values'
  ])
  await store.execute('DELETE FROM note')
  t.same(stepTexts(await apply(store, '@table type Note { heading: str }\n')), [
    'safe Note.heading is new',
    'safe Note.title is dropped, and has no values',
    'safe Note.stars is dropped, and has no values'
  ])
})

t.test('a new required column is refused if the table has rows', async t => {
  const store = await filled()
  const { code, message } = await refusal(apply(store, NOTES.replace(' }', ' owner: str }')))
  t.equal(code, 'RUN_SCHEMA_REFUSED')
  t.match(message, /! Note\.owner is new and required, and 3 rows would have no value for it/)
  t.match(message, /declare it as Option\[str\], or give it a literal default/)
  const filled1 = await refusal(apply(store, NOTES.replace('Option[str]', 'str'), { force: true }))
  t.match(filled1.message, /! Note\.body becomes required, but is empty in 1 row/)
  await store.execute("UPDATE note SET body = 'first' WHERE _id = 1")
  t.same(stepTexts(await apply(store, NOTES.replace('Option[str]', 'str'))), [
    'safe Note.body becomes required, and has a value in every row'
  ])
})

t.test('values are converted to their new type, and losses are counted', async t => {
  const store = await openStore()
  const declare = (...types: readonly string[]) =>
    `@table type V { ${types.map((type, at) => `c${at}: ${type}`).join(' ')} }`
  await apply(store, declare('int', 'int', 'bool', 'str', 'dec', 'float', 'str', 'str', 'List[int]'))
  await store.execute(
    "INSERT INTO v (c0, c1, c2, c3, c4, c5, c6, c7, c8) VALUES (7, 1, 1, '42', '1.5', 2.0, '-3.25', 'true', '[1]')"
  )
  const outcome = await apply(store, declare('float', 'bool', 'str', 'int', 'float', 'int', 'dec', 'bool', 'str'))
  t.ok(
    stepTexts(outcome).every(line => line.startsWith('safe')),
    stepTexts(outcome).join('\n')
  )
  t.same(await rowsOf(store, 'SELECT * FROM v'), [[1, 7, 1, 'true', 42, 1.5, 2, '-3.25', 1, '[1]']])
  await store.execute("INSERT INTO v (c0, c1, c2, c3, c4, c5, c6, c7, c8) VALUES (7.5, 0, '', 0, 0, 0, '1', 0, 'x')")
  const { message } = await refusal(
    apply(store, declare('int', 'bool', 'str', 'int', 'float', 'int', 'dec', 'bool', 'str'))
  )
  t.match(message, /V\.c0 changes from float to int, and the value changes in 1 row/)
  const forced = await apply(store, declare('int', 'bool', 'str', 'int', 'float', 'int', 'dec', 'bool', 'str'), {
    force: true,
    copyTo: async () => freshName()
  })
  t.equal(forced.plan.steps.length, 1)
  t.same(await rowsOf(store, 'SELECT c0, typeof(c0) FROM v'), [
    [7, 'integer'],
    [7, 'integer']
  ])
  const list = await refusal(apply(await lists(), '@table type L { xs: List[str] }'))
  t.match(list.message, /L\.xs changes from List\[int\] to List\[str\], and 1 row may not be readable as that type/)
})

async function lists() {
  const store = await openStore()
  await apply(store, '@table type L { xs: List[int] }')
  await store.execute("INSERT INTO l (xs) VALUES ('[1]')")
  return store
}

t.test('columns and tables are renamed with their values', async t => {
  const store = await filled(`${NOTES}@index Note.by_title on (title)\n@search_index Note.words on (title)\n`)
  const renamed = NOTES.replace('title', 'heading')
  const lossy = await refusal(apply(store, renamed))
  t.match(lossy.message, /title is dropped, with the values of 3 rows/)
  t.match(lossy.message, /if it is now heading: --rename Note\.title=heading/)
  await apply(store, renamed, {
    renames: { tables: new Map(), columns: new Map([['note', new Map([['title', 'heading']])]]) }
  })
  t.same(await rowsOf(store, 'SELECT _id, heading FROM note'), [
    [1, 'one'],
    [2, 'two'],
    [3, 'three']
  ])
  await apply(store, renamed.replace('Note', 'Memo'), {
    renames: { tables: new Map([['Note', 'Memo']]), columns: new Map() }
  })
  t.same(await rowsOf(store, 'SELECT count(*) FROM memo'), [[3]])
  t.same(await namesIn(store), ['memo', 'program_schema'])
  t.equal((await store.execute("INSERT INTO memo (heading) VALUES ('x')")).lastInsertId, 4)
})

t.test('an undeclared table is kept, and dropped with force', async t => {
  const store = await filled(`${NOTES}@table type Other { a: int }\n@search_index Note.words on (title)\n`)
  const outcome = await apply(store, '@table type Other { a: int }\n')
  t.same(stepTexts(outcome), ['kept Note is no longer declared; its 3 rows are kept'])
  t.same(outcome.plan.statements, [])
  t.equal((await rowsOf(store, "SELECT rowid FROM note_fts WHERE note_fts MATCH 'two'")).length, 1)
  const forced = await apply(store, '@table type Other { a: int }\n', { force: true, copyTo: async () => freshName() })
  t.same(stepTexts(forced), ['lossy Note is dropped with its 3 rows'])
  t.same(await namesIn(store), ['other', 'program_schema'])
  t.same(stepTexts(await apply(store, '@table type Other { a: int }\n')), [])
})

t.test('tables that no program created are not touched', async t => {
  const store = await openStore()
  await store.execute('CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)')
  await store.execute("INSERT INTO users VALUES (1, 'a')")
  for (const force of [false, true]) {
    const { code, message } = await refusal(apply(store, '@table type Users { name: str }', { force }))
    t.equal(code, 'RUN_SCHEMA_REFUSED')
    t.match(message, /! Users would be the table users, which exists in the database and was not created by a program/)
  }
  t.same(await rowsOf(store, 'SELECT * FROM users'), [[1, 'a']])
  await store.execute('CREATE TABLE fits (_id INTEGER PRIMARY KEY AUTOINCREMENT, a INTEGER NOT NULL)')
  t.same(
    stepTexts(await apply(store, '@table type Fits { a: int }')),
    [],
    'a table that matches its declaration is accepted'
  )
  t.ok(await apply(store, '@table type Fits { a: int b: Option[int] }'))
  await store.execute('CREATE VIEW taken AS SELECT 1')
  t.match((await refusal(apply(store, '@table type Taken { a: int }'))).message, /needs the name taken/)
})

t.test('impossible names are refused', async t => {
  const store = await openStore()
  const wrong: readonly (readonly [source: string, message: RegExp])[] = [
    ['@table type Sqlite_x { a: int }', /table names that begin with sqlite_/],
    ['@table type Program_schema { a: int }', /table names that begin with program_/],
    ['@table type Ab { a: int }\n@table type AB { a: int }', /both need the name ab/],
    ['@table type A { _id: int }', /every table has that column implicitly/],
    ['@table type A { a: int aB: int ab: str }', /A\.ab: another column has that name/],
    ['@table type A { a: str }\n@table type A_fts { a: int }\n@search_index A.w on (a)', /both need the name a_fts/]
  ]
  for (const [source, message] of wrong) t.match((await refusal(apply(store, source))).message, message, source)
  t.same(await namesIn(store), [])
})

t.test('a table that foreign keys refer to is not rebuilt', async t => {
  const store = await filled()
  await store.execute('CREATE TABLE mark (note INTEGER REFERENCES note (_id) ON DELETE CASCADE)')
  await store.execute('INSERT INTO mark VALUES (1)')
  const { message } = await refusal(apply(store, NOTES.replace('stars: int', 'stars: float')))
  t.match(message, /! Note cannot be rebuilt, since foreign keys of mark refer to it/)
  t.same(await rowsOf(store, 'SELECT * FROM mark'), [[1]])
})

t.test('a table used by other views and triggers is not rebuilt, but may change in place', async t => {
  const store = await filled()
  await store.execute('CREATE VIEW titles AS SELECT title FROM Note')
  await store.execute('CREATE TABLE log (n INTEGER)')
  await store.execute('CREATE TRIGGER copies AFTER INSERT ON log BEGIN UPDATE "note" SET stars = NEW.n; END')
  const rebuilt = NOTES.replace('stars: int', 'stars: float')
  for (const [kind, name] of [
    ['view', 'titles'],
    ['trigger', 'copies']
  ]) {
    const { code, message } = await refusal(apply(store, rebuilt))
    t.equal(code, 'RUN_SCHEMA_REFUSED')
    t.match(message, `the ${kind} ${name} refers to a table that must be rebuilt`)
    if (kind === 'view') await store.execute('DROP VIEW titles')
  }
  await store.execute('CREATE VIEW titles AS SELECT title FROM Note')
  await apply(store, NOTES.replace(' }', ' more: Option[str] }'))
  t.same(await rowsOf(store, 'SELECT count(*) FROM titles'), [[3]])
})

t.test('indexes and triggers that no program created survive a rebuild', async t => {
  const store = await filled()
  await store.execute('CREATE INDEX theirs ON note (title)')
  await store.execute('CREATE TABLE seen (n INTEGER)')
  await store.execute('CREATE TRIGGER watch AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (NEW._id); END')
  await apply(store, NOTES.replace('stars: int', 'stars: float'))
  t.same(await namesIn(store), ['note', 'program_schema', 'seen', 'theirs', 'watch'])
  await store.execute("INSERT INTO note (title) VALUES ('x')")
  t.same(await rowsOf(store, 'SELECT * FROM seen'), [[4]])
})

t.test("two programs share a table, and keep each other's columns", async t => {
  const store = await filled(`${NOTES}@index Note.by_title on (title)\n@search_index Note.words on (title)\n`)
  const all = await namesIn(store)
  t.same(stepTexts(await apply(store, NOTES, { path: 'other.vox' })), [])
  t.same(await namesIn(store), all)
  t.equal(
    (await refusal(apply(store, '@table type Note { title: str }', { path: 'other.vox' }))).code,
    'RUN_SCHEMA_LOSSY'
  )
  t.same(stepTexts(await apply(store, 'fn main() { }', { path: 'other.vox', force: true })), [])
  t.same(await namesIn(store), all)
})

t.test('tables of a removed program belong to the program that declares them now', async t => {
  const store = await filled()
  unlinkSync(join(project, 'app.vox'))
  t.same(stepTexts(await apply(store, NOTES.replace('title', 'heading: Option[str] title'), { path: 'moved.vox' })), [
    'safe Note.heading is new, and is empty in existing rows'
  ])
  t.same(await rowsOf(store, 'SELECT program FROM program_schema'), [['moved.vox']])
})

t.test('columns of a removed program are dropped from a shared table', async t => {
  const store = await filled(
    `${NOTES}@index Note.by_title on (title)\n@query fn q() to List[Note] { db.Note.all().live("x") }\n`
  )
  await apply(store, NOTES, { path: 'other.vox' })
  unlinkSync(join(project, 'app.vox'))
  t.same(stepTexts(await apply(store, NOTES, { path: 'other.vox' })), ['safe Note loses its index idx_note_by_title'])
  t.same(await namesIn(store), ['note', 'program_changes', 'program_changes_trim', 'program_schema'])
  t.same((await apply(store, NOTES, { path: 'other.vox' })).plan.statements, [])
})

t.test('a database in memory has no search, and warns about it', async t => {
  const store = await openMemory()
  const outcome = await apply(
    store,
    '@table type Doc { text: str at: Tensor[2] = 0 }\n@search_index Doc.words on (text)\n@vector_index Doc.near on (at)\n'.replace(
      ' = 0',
      ''
    )
  )
  t.same(outcome.notes, [
    'Doc.near: this database has no vector indexes',
    'Doc: this database has no full-text search',
    ':memory:: this database is in memory; all rows are lost when the process ends'
  ])
  t.same(await namesIn(store), ['doc', 'program_schema'])
  await store.close()
})
