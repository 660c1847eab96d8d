import t from 'tap'
import { openFile, openMemory } from '#store'
import './built-worker.ts'
import { freshFile } from './files.ts'

const stores = {
  'a file': () => openFile(freshFile(), { busyTimeoutMs: 100, synchronous: 'normal' }),
  memory: openMemory
}

for (const [name, open] of Object.entries(stores)) {
  t.test(`${name} reports the line and column of a syntax error`, async t => {
    const store = await open()
    await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name)')
    const cases = [
      ['SELCT 1', { line: 1, column: 1 }],
      ['SELECT id FROM items\nWHERE name ==\n  AND id = 1', { line: 3, column: 3 }],
      ['SELECT id\n  FROM itemz', { line: 2, column: 8 }],
      ['SELECT id, nam FROM items', { line: 1, column: 12 }],
      ['SELECT id FROM items WHERE (id = 1', { line: 1, column: 35 }],
      // The word occurs twice, and its first occurrence is valid.
      ['SELECT id FROM items, items AS a FROM items', { line: 1, column: 34 }]
    ] as const
    for (const [sql, at] of cases) await t.rejects(store.query(sql), { code: 'DBS_SYNTAX', at, data: { sql } }, sql)
    const script = 'CREATE TABLE more (a);\n\nCREATE TABLE others (\n  b INTEGER,,\n  c)'
    await t.rejects(store.migrate(script), { code: 'DBS_SYNTAX', at: { line: 4, column: 13 }, data: { statement: 1 } })
    await t.rejects(store.batch(['SELECT 1', 'SELECT\n *, FROM items']), {
      code: 'DBS_SYNTAX',
      at: { line: 2, column: 5 },
      data: { statement: 1 }
    })
    await store.close()
  })
}
