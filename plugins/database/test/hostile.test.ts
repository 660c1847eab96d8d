import type { DatabaseStore } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { openFile, openMemory } from '#store'
import './built-worker.ts'
import { freshFile } from './files.ts'

const stores: Readonly<Record<string, () => Promise<DatabaseStore>>> = {
  'a file': () => openFile(freshFile(), { busyTimeoutMs: 5_000, synchronous: 'normal' }),
  memory: openMemory
}

/** Known attacks, and arbitrary strings. */
const hostile = fc.oneof(
  fc.constantFrom(
    "' OR 1 = 1 --",
    "'); DROP TABLE items; --",
    '"; DELETE FROM items; --',
    "\\'; ATTACH 'x' AS y; --",
    "' UNION SELECT sql FROM sqlite_master --",
    '?1',
    ':name',
    '%',
    '_',
    '\u202e\u0000'.slice(0, 1)
  ),
  fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0')),
  fc
    .array(fc.constantFrom("'", '"', '`', ';', '--', '/*', '*/', '?', '\\', '%', '\n', ' OR ', 'x'))
    .map(parts => parts.join(''))
)

for (const [name, open] of Object.entries(stores)) {
  t.test(`${name}: no parameter value becomes part of a statement`, async t => {
    const store = await open()
    await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, note)')
    await store.execute("INSERT INTO items (name) VALUES ('kept')")
    const schema = (await store.query('SELECT sql FROM sqlite_master')).rows
    await fc.assert(
      fc.asyncProperty(hostile, async text => {
        const inserted = await store.execute('INSERT INTO items (name, note) VALUES (:name, :note)', {
          name: text,
          note: text
        })
        const id = inserted.lastInsertId
        const found = await store.query(
          'SELECT name, note FROM items WHERE id = ? AND name = ? AND note IS ? AND name IN (?, ?) AND instr(name, ?)',
          [id, text, text, text, 'x', text]
        )
        const updated = await store.execute('UPDATE items SET note = ? WHERE id = ? AND name = ?', [
          `${text}!`,
          id,
          text
        ])
        const deleted = await store.execute('DELETE FROM items WHERE id = ? AND note = ?', [id, `${text}!`])
        const { rows } = await store.query('SELECT name FROM items')
        t.same([found.rows, updated.changes, deleted.changes, rows], [[[text, text]], 1, 1, [['kept']]])
      }),
      { numRuns: 80 }
    )
    t.same((await store.query('SELECT sql FROM sqlite_master')).rows, schema)
    await store.close()
  })

  t.test(`${name}: an invalid value is rejected, and the connection stays usable`, async t => {
    const store = await open()
    const values = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withTypedArray: true,
      withNullPrototype: true
    })
    await fc.assert(
      fc.asyncProperty(values, async value => {
        try {
          await store.query('SELECT ?', [value as null])
        } catch (error) {
          t.equal((error as { code?: string }).code, 'DBS_VALUE_INVALID')
        }
      }),
      { numRuns: 100 }
    )
    t.same((await store.query('SELECT 1')).rows, [[1]])
    await store.close()
  })
}
