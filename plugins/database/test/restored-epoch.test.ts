import { writeFileSync } from 'node:fs'
import { coordinationSql } from '@svc/contracts'
import t from 'tap'
import './built-worker.ts'
import { applyBaseline, openFile, restore } from '@svc/plugin-database/testing'
import { freshFile } from './files.ts'

const OPTIONS = { busyTimeoutMs: 5_000, synchronous: 'normal' } as const
let restores = 0

/** Writes a database with the baseline; with an epoch if it has a coordination store. */
async function database(epoch: number | null): Promise<string> {
  const file = freshFile()
  const store = await openFile(file, OPTIONS)
  await applyBaseline(store)
  if (epoch !== null)
    await store.batch([...coordinationSql.COORDINATION_TABLES, ...coordinationSql.beginEpoch(epoch).statements])
  await store.close()
  return file
}

/** Restores a backup over a database, and returns the epoch; null without a coordination store. */
async function epochAfterRestore(copy: string, file: string): Promise<number | null> {
  restores += 1
  await restore(copy, file, new Date(Date.UTC(2026, 0, 1) + restores * 1_000))
  const store = await openFile(file, OPTIONS)
  try {
    const tables = await store.query("select 1 from sqlite_master where name = 'coord_seq'")
    if (tables.rows.length === 0) return null
    const { rows } = await store.query("select value from coord_seq where name = 'epoch'")
    return Number(rows[0]?.[0])
  } finally {
    await store.close()
  }
}

t.test('each restore begins an epoch above those of the backup and of the replaced database', async t => {
  const copy = await database(3)
  const file = await database(7)
  t.equal(await epochAfterRestore(copy, file), 8)
  t.equal(await epochAfterRestore(copy, file), 9, 'also if the same backup is restored again')
  t.equal(await epochAfterRestore(await database(20), file), 21)
  t.equal(await epochAfterRestore(await database(null), file), 22, 'the backup is older than the coordination store')
  t.equal(await epochAfterRestore(copy, await database(null)), 4)
})

t.test('a database without a coordination store gets none', async t => {
  t.equal(await epochAfterRestore(await database(null), await database(null)), null)
})

t.test('epochs are skipped if the replaced database is missing or damaged', async t => {
  const damaged = freshFile()
  writeFileSync(damaged, 'no database'.repeat(1_000))
  t.equal(await epochAfterRestore(await database(3), damaged), 68)
  t.equal(await epochAfterRestore(await database(3), freshFile()), 68)
})

t.test('a restore after the last epoch is refused, and changes nothing', async t => {
  const copy = await database(1)
  const file = await database(coordinationSql.MAX_EPOCH)
  await t.rejects(restore(copy, file, new Date(0)), { code: 'DBP_BACKUP_INVALID', message: /last epoch, 8190/ })
  t.equal(await epochAfterRestore(file, await database(null)).catch(error => error.code), 'DBP_BACKUP_INVALID')
})
