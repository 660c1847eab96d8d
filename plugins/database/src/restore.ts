import { chmod, copyFile, open, rename, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { coordinationSql, type DatabaseStore, databaseErrors } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { readSchema } from './baseline/apply.ts'
import { BASELINE_VERSION } from './baseline/schema.ts'
import { pluginErrors } from './errors.ts'
import { beginRestoredEpoch, readReplacedEpoch } from './restored-epoch.ts'
import { openFile } from './store/local-store.ts'
import { WorkerConnection } from './store/worker-connection.ts'
import { PRIVATE_MODE } from './worker/engine.ts'

const OPTIONS = { busyTimeoutMs: 0, synchronous: 'full' } as const

export interface Restored {
  /** Path of the replaced database; null if there was none. */
  readonly kept: string | null
}

/**
 * Checks a backup and replaces a closed database with it; the replaced file is kept. Throws `DBP_BACKUP_INVALID` before
 * any change, and `DBS_BUSY` if another process has the database open. A new epoch of the coordination store begins, so
 * that no fence repeats.
 */
export async function restore(copy: string, file: string, now: Date): Promise<Restored> {
  const staged = `${file}.restoring-${process.pid}`
  try {
    await stage(copy, staged, await readReplacedEpoch(file))
    const kept = await moveAside(file, now)
    await rename(staged, file)
    return { kept }
  } finally {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${staged}${suffix}`, { force: true })
  }
}

/** Copies the backup to a staged file and checks that, so that the backup itself is not written to. */
async function stage(copy: string, staged: string, replacedEpoch: number | null): Promise<void> {
  const invalid = (why: string, cause?: unknown): Error =>
    pluginErrors.create('DBP_BACKUP_INVALID', `${copy} cannot be restored: ${why}`, {
      hint: 'name a file that svc db backup has written; the database was not changed',
      cause
    })
  if ((await stat(copy).catch(() => null))?.isFile() !== true) throw invalid('the file does not exist')
  await copyFile(copy, staged)
  await chmod(staged, PRIVATE_MODE)
  try {
    const store = await openFile(staged, OPTIONS)
    try {
      await check(store, invalid)
      if (!(await beginRestoredEpoch(store, replacedEpoch)))
        throw invalid(`its coordination store has reached the last epoch, ${coordinationSql.MAX_EPOCH}`)
    } finally {
      await store.close()
    }
    await leaveWal(staged)
  } catch (error) {
    if (isSvcError(error, 'DBP_BACKUP_INVALID') || isSvcError(error, 'DBS_NO_BINDING')) throw error
    throw invalid(messageWithout(error, staged), error)
  }
  const handle = await open(staged, 'r+')
  await handle.sync().finally(() => handle.close())
}

/** Returns the error message without the name of the staged file, which is removed by then. */
function messageWithout(error: unknown, staged: string): string {
  return errorMessage(error).replace(`${staged}: `, '')
}

async function check(store: DatabaseStore, invalid: (why: string) => Error): Promise<void> {
  const { rows } = await store.query('PRAGMA integrity_check(1)')
  if (rows[0]?.[0] !== 'ok') throw invalid(`the file is damaged: ${rows[0]?.[0]}`)
  const { version } = await readSchema(store)
  if (version === null) throw invalid('the file has no table schema_version')
  if (version > BASELINE_VERSION)
    throw invalid(`its schema version is ${version}, but this svc supports only version ${BASELINE_VERSION}`)
}

/** Leaves WAL mode, which needs exclusive access: `DBS_BUSY` means that another process has the file open. */
async function leaveWal(file: string): Promise<void> {
  const connection = new WorkerConnection({ engine: 'libsql', file, readOnly: false, ...OPTIONS }, file)
  try {
    await connection.open()
    await connection.standalone({ sql: 'PRAGMA journal_mode = DELETE', values: [], verb: 'PRAGMA' })
  } finally {
    await connection.close()
  }
}

async function moveAside(file: string, now: Date): Promise<string | null> {
  if ((await stat(file).catch(() => null)) === null) return null
  try {
    await leaveWal(file)
  } catch (error) {
    // A damaged file is a reason to restore.
    if (!isSvcError(error, 'DBS_CORRUPT')) throw busy(file, error)
  }
  const kept = resolve(`${file}.before-${now.toISOString().replaceAll(/[:.]/g, '')}`)
  await rename(file, kept)
  for (const suffix of ['-wal', '-shm']) await rm(`${file}${suffix}`, { force: true })
  return kept
}

function busy(file: string, error: unknown): unknown {
  if (!isSvcError(error, 'DBS_BUSY')) return error
  return databaseErrors.create('DBS_BUSY', `${file} is open in another process`, {
    cause: error,
    hint: `stop the process or the served program that has it open; fuser ${file} finds it`
  })
}
