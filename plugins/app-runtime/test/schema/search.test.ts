import t from 'tap'
import { apply, namesIn, openStore, rowsOf, stepTexts } from './schema-fixture.ts'

const found = async (store: Awaited<ReturnType<typeof openStore>>, words: string, table = 'doc') => {
  const rows = await store.query(`SELECT rowid FROM ${table}_fts WHERE ${table}_fts MATCH ? ORDER BY rowid`, [words])
  return rows.rows.map(([id]) => id)
}

t.test('the index follows rows that are added, changed and removed', async t => {
  const store = await openStore()
  const source =
    '@table type Doc { title: str body: Option[str] n: int = 0 }\n@search_index Doc.words on (title, body)\n'
  await apply(store, source)
  const { lastInsertId, changes } = await store.execute("INSERT INTO doc (title, body) VALUES ('red apple', NULL)")
  t.same([lastInsertId, changes], [1, 1], 'triggers do not affect the reported id and changes')
  await store.execute("INSERT INTO doc (title, body) VALUES ('green', 'an apple, too'), ('blue', 'sky')")
  t.same(await found(store, 'apple'), [1, 2])
  await store.execute("UPDATE doc SET title = 'red pear' WHERE _id = 1")
  t.same(await found(store, 'apple'), [2])
  t.same(await found(store, 'pear'), [1])
  await store.execute('UPDATE doc SET n = 5')
  t.same(await found(store, 'pear'), [1])
  await store.execute('DELETE FROM doc WHERE _id = 2')
  t.same(await found(store, 'apple'), [])
  await store.execute("INSERT INTO doc_fts (doc_fts) VALUES ('integrity-check')")
})

t.test('a changed search index is rebuilt from existing rows, and a removed one is dropped', async t => {
  const store = await openStore()
  const table = '@table type Doc { title: str body: str }\n'
  await apply(store, table)
  await store.execute("INSERT INTO doc (title, body) VALUES ('running', 'water')")
  t.same(stepTexts(await apply(store, `${table}@search_index Doc.words on (title)\n`)), [
    'safe Doc gets a full-text search of title'
  ])
  t.same(await found(store, 'running'), [1])
  t.same(await found(store, 'water'), [])
  await apply(store, `${table}@search_index Doc.words on (title)\n@search_index Doc.more on (body)\n`)
  t.same(await found(store, 'water'), [1])
  t.same(await found(store, 'run'), [])
  await apply(store, `${table}@search_index Doc.words on (title) with { tokenize: "porter" }\n`)
  t.same(await found(store, 'run'), [1])
  t.same(stepTexts(await apply(store, table)), ['safe Doc loses its full-text search'])
  t.same(await namesIn(store), ['doc', 'program_schema'])
  await store.execute("INSERT INTO doc (title, body) VALUES ('a', 'b')")
})

t.test('the full-text table is filled again after a rebuild of its table', async t => {
  const store = await openStore()
  const source = '@table type Doc { title: str n: int }\n@search_index Doc.words on (title)\n'
  await apply(store, source)
  await store.execute("INSERT INTO doc (title, n) VALUES ('one', 1), ('two', 2)")
  await store.execute('DELETE FROM doc WHERE _id = 1')
  await apply(store, source.replace('n: int', 'n: float'))
  t.same(await found(store, 'two'), [2])
  await store.execute("INSERT INTO doc (title, n) VALUES ('three', 2)")
  t.same(await found(store, 'three'), [3])
  await store.execute("INSERT INTO doc_fts (doc_fts) VALUES ('integrity-check')")
})

t.test('without an index, a search covers all text columns of a table', async t => {
  const store = await openStore()
  await apply(
    store,
    `@table type Doc { title: str n: int body: Option[str] tags: List[str] }
@query fn find(q: str) to List[Doc] { db.Doc.where({ title: { contains: q } }).using("hybrid") }
`
  )
  await store.execute("INSERT INTO doc (title, n, body, tags) VALUES ('one', 1, 'two', '[\"three\"]')")
  t.same(await found(store, 'two'), [1])
  t.same(await found(store, 'three'), [])
})

t.test('a vector index finds the nearest rows, and survives a rebuild of its table', async t => {
  const store = await openStore()
  const source =
    '@table type Place { name: str at: Tensor[3] }\n@vector_index Place.near on (at) with { metric: "l2" }\n'
  await apply(store, source)
  for (let n = 0; n < 50; n += 1)
    await store.execute('INSERT INTO place (name, at) VALUES (?, vector32(?))', [`p${n}`, JSON.stringify([n, 0, 1])])
  const nearest = async () => {
    const sql =
      "SELECT p.name FROM vector_top_k('idx_place_near_vector', vector32('[20.2, 0, 1]'), 3) AS v JOIN place AS p ON p._id = v.id"
    return (await rowsOf(store, sql)).map(([name]) => name).sort()
  }
  t.same(await nearest(), ['p19', 'p20', 'p21'])
  await store.execute("DELETE FROM place WHERE name = 'p21'")
  await apply(store, source.replace('name: str', 'name: Option[str]'))
  t.same(await nearest(), ['p19', 'p20', 'p22'])
  t.same((await apply(store, source.replace('name: str', 'name: Option[str]'))).plan.statements, [])
  t.same(stepTexts(await apply(store, source.split('\n')[0] as string)), [
    'safe Place.name becomes required, and has a value in every row',
    'safe Place loses its index idx_place_near_vector'
  ])
})

t.test('a migration of stored vectors to another length would lose data', async t => {
  const store = await openStore()
  await apply(store, '@table type P { at: Option[Tensor[2]] }')
  await store.execute("INSERT INTO p (at) VALUES (vector32('[1, 2]'))")
  await t.rejects(apply(store, '@table type P { at: Option[Tensor[3]] }'), { code: 'RUN_SCHEMA_LOSSY' })
})
