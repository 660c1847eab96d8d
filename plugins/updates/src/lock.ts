import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import { updateErrors } from './errors.ts'

/**
 * Runs work while this process holds a lock file. A lock of a process that no longer runs is taken over. Throws
 * `UPD_BUSY`.
 */
export async function withLock<A>(file: string, run: () => Promise<A>): Promise<A> {
  const own = `${file}.${randomUUID()}`
  await writeFile(own, JSON.stringify(ownIdentity()), { flag: 'wx' })
  try {
    await take(file, own)
  } finally {
    await rm(own, { force: true })
  }
  try {
    return await run()
  } finally {
    await rm(file, { force: true })
  }
}

/** A hard link appears with its whole content, or not at all. */
async function take(file: string, own: string): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      await link(own, file)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = await readHolder(file)
    if (holder !== null && presenceOf(holder) !== 'dead') throw busy(file, holder)
    // Renamed before it is removed, so that only one process takes it over.
    const stale = `${own}.stale`
    await rename(file, stale).catch(() => {})
    await rm(stale, { force: true })
  }
  throw busy(file, null)
}

async function readHolder(file: string): Promise<ProcessIdentity | null> {
  try {
    const { host, pid, start } = JSON.parse(await readFile(file, 'utf8')) as Partial<ProcessIdentity>
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid, start: start ?? null } : null
  } catch {
    return null
  }
}

function busy(file: string, holder: ProcessIdentity | null) {
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`
  return updateErrors.create('UPD_BUSY', `${who} is installing a version`, {
    at: { file },
    hint: `wait until it ends; if it no longer runs, remove ${file}`
  })
}
