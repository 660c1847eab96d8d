import { stat } from 'node:fs/promises'
import { coordinationSql, type DatabaseStore } from '@svc/contracts'
import { openFile } from './store/local-store.ts'

/** Epochs that are skipped if that of the replaced database is not known: more than it may have had. */
const SKIPPED_EPOCHS = 64

/**
 * Returns the epoch of the coordination store in the database that will be replaced; 0 if it has none, null if the file
 * is missing or cannot be read.
 */
export async function readReplacedEpoch(file: string): Promise<number | null> {
  if ((await stat(file).catch(() => null)) === null) return null
  try {
    const store = await openFile(file, { busyTimeoutMs: 0, synchronous: 'full' })
    try {
      return (await readEpoch(store)) ?? 0
    } finally {
      await store.close()
    }
  } catch {
    // A damaged file is a reason to restore.
    return null
  }
}

/**
 * Begins an epoch after those of the backup and of the replaced database. Does nothing if neither has a coordination
 * store. Returns false if there are no further epochs.
 */
export async function beginRestoredEpoch(staged: DatabaseStore, replaced: number | null): Promise<boolean> {
  const own = await readEpoch(staged)
  if (own === null && replaced === 0) return true
  const epoch = Math.max(own ?? 0, replaced ?? (own ?? 0) + SKIPPED_EPOCHS) + 1
  if (epoch > coordinationSql.MAX_EPOCH) return false
  await staged.batch([...coordinationSql.COORDINATION_TABLES, ...coordinationSql.beginEpoch(epoch).statements])
  return true
}

/** Returns null if the database has no coordination store. */
async function readEpoch(store: DatabaseStore): Promise<number | null> {
  const { rows } = await store.query("select 1 from sqlite_master where type = 'table' and name = 'coord_seq'")
  if (rows.length === 0) return null
  const { statements, read } = coordinationSql.readEpoch()
  const [statement] = statements
  return read([await store.query(statement?.sql ?? '')])
}
