import assert from 'node:assert/strict'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { DatabaseStore } from '../database/store.ts'
import { rowsByName, type SqlParameter, type SqlValue } from '../database/values.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface DatabaseStoreSubject {
  /** Returns a new store for each call, without tables; the suite closes it. */
  open(): Promise<DatabaseStore>
  /** Returns an unused path; called if the capabilities of the store include backups. */
  freshFile(): string
}

/** Pairs: a value written to a column without an affinity, and the value read back. */
const VALUES: readonly (readonly [SqlParameter, SqlValue])[] = [
  [null, null],
  [0, 0],
  [-1, -1],
  [2 ** 31, 2 ** 31],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  [7n, 7],
  [2n ** 53n, 2n ** 53n],
  [2n ** 63n - 1n, 2n ** 63n - 1n],
  [-(2n ** 63n), -(2n ** 63n)],
  [1.5, 1.5],
  [5e-324, 5e-324],
  [1e300, 1e300],
  [true, 1],
  [false, 0],
  ['', ''],
  ["'; DROP TABLE items; --", "'; DROP TABLE items; --"],
  ['éł😀\u{10FFFF}\n\t', 'éł😀\u{10FFFF}\n\t'],
  [new Uint8Array([]), new Uint8Array([])],
  [new Uint8Array([0, 1, 255]), new Uint8Array([0, 1, 255])]
]

const REFUSED_VALUES: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['64 bits', 2n ** 63n],
  ['U+0000', 'a\0b'],
  ['surrogate', 'a\ud800'],
  ['function', () => 1],
  ['symbol', Symbol('a')],
  ['Date', new Date(0)],
  ['Object', {}],
  ['Array', [1]]
]

/** Conformance cases for every `DatabaseStore`. */
export function databaseStoreSuite({ open, freshFile }: DatabaseStoreSubject): ConformanceSuite {
  const withStore = async (run: (store: DatabaseStore) => Promise<void>): Promise<void> => {
    const store = await open()
    try {
      await store.migrate('CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, note)')
      await run(store)
    } finally {
      await store.close()
    }
  }
  const names = async (store: DatabaseStore): Promise<SqlValue[]> =>
    (await store.query('SELECT name FROM items ORDER BY id')).rows.map(([name]) => name ?? null)
  const add = (name: string) => ({ sql: 'INSERT INTO items (name) VALUES (?)', parameters: [name] })
  const each = (name: string, run: (store: DatabaseStore) => Promise<void>) => ({ name, run: () => withStore(run) })

  return [
    each('returns rows in order, with their column names', async store => {
      await store.batch([add('a'), add('b')])
      const { columns, rows, changes, lastInsertId } = await store.query('SELECT id, name FROM items ORDER BY id')
      assert.deepEqual(
        { columns, rows, changes, lastInsertId },
        {
          columns: ['id', 'name'],
          rows: [
            [1, 'a'],
            [2, 'b']
          ],
          changes: 0,
          lastInsertId: null
        }
      )
      assert.deepEqual(rowsByName({ columns, rows })[1], { id: 2, name: 'b' })
    }),
    each('reports the number of rows that a write changed', async store => {
      const inserted = await store.execute('INSERT INTO items (name) VALUES (?), (?)', ['a', 'b'])
      assert.deepEqual([inserted.changes, inserted.lastInsertId], [2, 2])
      const ignored = await store.execute("INSERT OR IGNORE INTO items (name) VALUES ('a')")
      assert.deepEqual([ignored.changes, ignored.lastInsertId], [0, null])
      const updated = await store.execute('UPDATE items SET note = 1')
      assert.deepEqual([updated.changes, updated.lastInsertId], [2, null])
      const returned = await store.execute("DELETE FROM items WHERE name = 'a' RETURNING id, name")
      assert.deepEqual([returned.rows, returned.changes], [[[1, 'a']], 1])
      assert.equal((await store.execute('CREATE TABLE more (a)')).changes, 0)
      await store.migrate('CREATE TRIGGER twice AFTER INSERT ON more BEGIN UPDATE items SET note = 2; END')
      assert.equal((await store.execute('INSERT INTO more VALUES (1)')).changes, 1)
    }),
    each('returns every value as it was stored', async store => {
      for (const [value, expected] of VALUES) {
        await store.execute("INSERT OR REPLACE INTO items (id, name, note) VALUES (1, 'a', ?)", [value])
        const { rows } = await store.query('SELECT note FROM items WHERE note IS ?', [value])
        assert.deepEqual(rows, [[expected]])
      }
      const { rows } = await store.query('SELECT typeof(?), typeof(?), typeof(?), typeof(?)', [1, 1.5, 2 ** 40, true])
      assert.deepEqual(rows, [['integer', 'real', 'integer', 'integer']])
    }),
    each('rejects a value that no column can hold, names its type, and stays usable', async store => {
      for (const [name, value] of REFUSED_VALUES) {
        const error = await refused(
          store.execute('INSERT INTO items (name) VALUES (?)', [value as null]),
          'DBS_VALUE_INVALID'
        )
        holds(error.message.includes(name), `"${error.message}" names ${name}`)
        await refused(store.query('SELECT ?', [value as null]), 'DBS_VALUE_INVALID')
      }
      assert.deepEqual(await names(store), [])
    }),
    each('accepts named parameters, and rejects a missing or a surplus one', async store => {
      const sql = 'SELECT :a, @b, $c, :a'
      assert.deepEqual((await store.query(sql, { a: 1, b: 'x', c: null })).rows, [[1, 'x', null, 1]])
      await refused(store.query(sql, { a: 1, b: 2 }), 'DBS_VALUE_INVALID')
      await refused(store.query(sql, { a: 1, b: 2, c: 3, d: 4 }), 'DBS_VALUE_INVALID')
      await refused(store.query(sql), 'DBS_VALUE_INVALID')
      await refused(store.query('SELECT ?, ?', [1]), 'DBS_VALUE_INVALID')
      await refused(store.query('SELECT ?', [1, 2]), 'DBS_VALUE_INVALID')
      assert.deepEqual((await store.query("SELECT '?', ?2, ?1 -- ?", [1, 2])).rows, [['?', 2, 1]])
    }),
    each('reports where a statement is wrong', async store => {
      const error = await refused(store.query('SELECT name\nFROM items\nWERE id = 1'), 'DBS_SYNTAX')
      holds(error.message.includes('id') || error.message.includes('WERE'), `"${error.message}" names the token`)
      await refused(store.execute('INSERT INTO itemz (name) VALUES (1)'), 'DBS_SYNTAX')
      await refused(store.query(''), 'DBS_SYNTAX')
      await refused(store.query('SELECT (1'), 'DBS_SYNTAX')
    }),
    each('rejects several statements in one call, and statements that change transactions or settings', async store => {
      await refused(store.query('SELECT 1; SELECT 2'), 'DBS_STATEMENT_REFUSED')
      for (const sql of [
        'BEGIN',
        'commit',
        '/* a */ rollback',
        'SAVEPOINT a',
        "ATTACH 'other.db' AS other",
        'PRAGMA foreign_keys = 0'
      ])
        await refused(store.execute(sql), 'DBS_STATEMENT_REFUSED')
      assert.deepEqual((await store.query('SELECT 1; -- and no more\n;')).rows, [[1]])
    }),
    each('does not write in a query', async store => {
      await refused(store.query("INSERT INTO items (name) VALUES ('a') RETURNING id"), 'DBS_READ_ONLY')
      await refused(
        store.query("WITH a AS (SELECT 'x' AS n) INSERT INTO items (name) SELECT n FROM a"),
        'DBS_READ_ONLY'
      )
      await refused(store.query('DROP TABLE items'), 'DBS_READ_ONLY')
      assert.deepEqual(await names(store), [])
    }),
    each('names the constraint that a change would break', async store => {
      await store.execute("INSERT INTO items (name) VALUES ('a')")
      const error = await refused(store.execute("INSERT INTO items (name) VALUES ('a')"), 'DBS_CONSTRAINT')
      const { constraint, columns } = error.data as { constraint: string; columns: string[] }
      assert.deepEqual([constraint, columns], ['unique', ['items.name']])
      await refused(store.execute('INSERT INTO items (name) VALUES (NULL)'), 'DBS_CONSTRAINT')
      assert.deepEqual(await names(store), ['a'])
    }),
    each('enforces foreign keys', async store => {
      await store.migrate(`CREATE TABLE parts (item INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE);
        CREATE TRIGGER noted AFTER INSERT ON parts BEGIN UPDATE items SET note = 'has parts'; END;`)
      await refused(store.execute('INSERT INTO parts VALUES (1)'), 'DBS_CONSTRAINT')
      await store.batch([add('a'), 'INSERT INTO parts VALUES (1)', 'DELETE FROM items'])
      assert.deepEqual((await store.query('SELECT count(*) FROM parts')).rows, [[0]])
    }),
    each('applies a whole batch or nothing, and reports the index of the failed statement', async store => {
      const error = await refused(store.batch([add('a'), add('b'), add('a')]), 'DBS_CONSTRAINT')
      assert.equal((error.data as { statement: number }).statement, 2)
      assert.deepEqual(await names(store), [])
      const results = await store.batch([add('a'), add('b'), 'SELECT count(*) FROM items'])
      assert.deepEqual(results[2]?.rows, [[2]])
    }),
    each('applies a migration as a whole, and sees the new schema immediately', async store => {
      assert.deepEqual((await store.query('SELECT * FROM items')).columns, ['id', 'name', 'note'])
      await refused(
        store.migrate('ALTER TABLE items ADD COLUMN more; CREATE TABLE items (a)'),
        'DBS_SYNTAX',
        'DBS_FAILED'
      )
      assert.deepEqual((await store.query('SELECT * FROM items')).columns, ['id', 'name', 'note'])
      await store.migrate(
        "ALTER TABLE items ADD COLUMN more DEFAULT 5;\n-- done\nINSERT INTO items (name) VALUES (';');"
      )
      assert.deepEqual((await store.query('SELECT * FROM items')).rows, [[1, ';', null, 5]])
    }),
    each('commits a transaction when it ends, and hides its changes before', async store => {
      let seen: readonly SqlValue[] | undefined
      let goOn = () => {}
      const outside = new Promise<void>(resolve => {
        goOn = resolve
      })
      const result = store.transaction(async tx => {
        await tx.execute("INSERT INTO items (name) VALUES ('a')")
        seen = (await tx.query('SELECT count(*) FROM items')).rows[0]
        await outside
        await tx.execute("INSERT INTO items (name) VALUES ('b')")
        return 'done'
      })
      const counted = store.query('SELECT count(*) FROM items')
      goOn()
      const [[count]] = (await counted).rows as [[number]]
      holds(count === 0 || count === 2, `a concurrent query sees 0 or 2 rows, not ${count}`)
      assert.equal(await result, 'done')
      assert.deepEqual([seen, await names(store)], [[1], ['a', 'b']])
    }),
    each('rolls a transaction back when it throws, and rethrows the error', async store => {
      const boom = new Error('boom')
      const failed = store.transaction(async tx => {
        await tx.execute("INSERT INTO items (name) VALUES ('a')")
        throw boom
      })
      await assert.rejects(failed, boom)
      assert.deepEqual(await names(store), [])
    }),
    each('ends a transaction that takes too long, and starts the next one', async store => {
      const slow = store.transaction(
        async tx => {
          await tx.execute("INSERT INTO items (name) VALUES ('a')")
          return new Promise(() => {})
        },
        { timeoutMs: 50 }
      )
      await refused(slow, 'DBS_TRANSACTION_ENDED')
      await store.execute("INSERT INTO items (name) VALUES ('c')")
      assert.deepEqual(await names(store), ['c'])
    }),
    each('rejects calls on a transaction that has ended', async store => {
      const tx = await store.transaction(async open => open)
      await refused(tx.execute("INSERT INTO items (name) VALUES ('a')"), 'DBS_TRANSACTION_ENDED')
      await refused(tx.query('SELECT 1'), 'DBS_TRANSACTION_ENDED')
    }),
    each('rejects a call on the store inside its open transaction instead of waiting forever', async store => {
      await store.transaction(async () => {
        await refused(store.query('SELECT 1'), 'DBS_NESTED')
        await refused(store.execute("INSERT INTO items (name) VALUES ('a')"), 'DBS_NESTED')
        await refused(
          store.transaction(async () => {}),
          'DBS_NESTED'
        )
      })
      assert.deepEqual(await names(store), [])
    }),
    each('runs writers in the order of their calls', async store => {
      const order: number[] = []
      await Promise.all([
        store.transaction(async tx => {
          await tx.execute("INSERT INTO items (name) VALUES ('1')")
          order.push(1)
        }),
        store.execute("INSERT INTO items (name) VALUES ('2')").then(() => order.push(2)),
        store.batch([add('3')]).then(() => order.push(3)),
        store.transaction(async () => void order.push(4))
      ])
      assert.deepEqual(order, [1, 2, 3, 4])
      assert.deepEqual(await names(store), ['1', '2', '3'])
    }),
    each('concurrent writes fail or succeed independently', async store => {
      const written = await Promise.allSettled(
        Array.from({ length: 60 }, (_, at) => store.execute('INSERT INTO items (name) VALUES (?)', [`n${at % 40}`]))
      )
      assert.equal(written.filter(({ status }) => status === 'fulfilled').length, 40)
      for (const outcome of written)
        if (outcome.status === 'rejected')
          holds(isSvcError(outcome.reason, 'DBS_CONSTRAINT'), 'a duplicate is rejected')
      assert.equal((await names(store)).length, 40)
    }),
    each('does not start a call whose signal is already aborted', async store => {
      const signal = AbortSignal.abort(new Error('gone'))
      await assert.rejects(store.execute("INSERT INTO items (name) VALUES ('a')", [], { signal }), /gone/)
      await assert.rejects(
        store.transaction(async () => {}, { signal }),
        /gone/
      )
      await assert.rejects(store.query('SELECT 1', [], { signal }), /gone/)
      assert.deepEqual(await names(store), [])
    }),
    each('supports full-text search if its capabilities say so', async store => {
      const made = store.migrate('CREATE VIRTUAL TABLE texts USING fts5 (body)')
      if (!(await store.capabilities()).fts) return void (await assert.rejects(made))
      await made
      await store.execute("INSERT INTO texts VALUES ('the quick brown fox')")
      assert.deepEqual((await store.query("SELECT rowid FROM texts WHERE texts MATCH 'quick'")).rows, [[1]])
    }),
    each('writes a backup if its capabilities say so, and never overwrites a file', async store => {
      await store.execute("INSERT INTO items (name) VALUES ('a')")
      const file = freshFile()
      if (!(await store.capabilities()).backup) return void (await refused(store.backup(file), 'DBS_UNSUPPORTED'))
      await store.backup(file)
      await refused(store.backup(file), 'DBS_BACKUP_FAILED')
      await store.execute("INSERT INTO items (name) VALUES ('b')")
      assert.deepEqual(await names(store), ['a', 'b'])
    }),
    {
      name: 'finishes started calls when it is closed, and rejects later ones',
      async run() {
        const store = await open()
        const begun = store.execute('CREATE TABLE items (a)')
        const closed = store.close()
        await refused(store.execute('CREATE TABLE more (a)'), 'DBS_CLOSED')
        await Promise.all([begun, closed, store.close()])
        await refused(store.query('SELECT 1'), 'DBS_CLOSED')
        await refused(store.backup(freshFile()), 'DBS_CLOSED')
      }
    }
  ]
}

async function refused(call: Promise<unknown>, ...codes: readonly string[]): Promise<SvcError> {
  const error = await call.then(
    () => assert.fail(`the call succeeded, but should throw ${codes.join(' or ')}`),
    (caught: unknown) => caught
  )
  holds(isSvcError(error), `the call throws an error with a code, not ${String(error)}`)
  holds(codes.includes(error.code), `the call throws ${codes.join(' or ')}, not ${error.code}: ${error.message}`)
  return error
}
