import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** Interval in milliseconds for retrying while another process replaces the file. */
const STEP_MS = 10

/** Null if the caller owns the file, else the text of the current owner. */
export type Claim = string | null

/**
 * Claims a lock file: creates it with `text`, or replaces the file of a dead process. Exactly one of several concurrent
 * processes succeeds. `text` must be unique for each claim, except to renew one. `lives` returns true if the process
 * that a file names is alive.
 *
 * Readers never see a partial file. To replace the file of a dead process, a second lock file is claimed in the same
 * way. It is named by a digest of the old text. Its owner then replaces the file if it still has the old text.
 */
export async function claim(path: string, text: string, lives: (text: string) => Promise<boolean>): Promise<Claim> {
  makePrivateFolder(dirname(path))
  const draft = `${path}.${process.pid}.${digest(text)}.tmp`
  await writeFile(draft, text, { mode: 0o600 })
  try {
    for (;;) {
      if (await createFrom(draft, path)) return null
      const found = await textOf(path)
      if (found === null) continue
      if (found === text) return null
      if (await lives(found)) return found
      const lock = `${path}.${digest(found)}`
      if ((await claim(lock, text, lives)) !== null) {
        await delay(STEP_MS)
        continue
      }
      const unchanged = (await textOf(path)) === found
      if (unchanged) await rename(draft, path)
      await unlink(lock)
      if (unchanged) return null
    }
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

/** Removes the lock file if it still has this text. */
export async function release(path: string, text: string): Promise<void> {
  if ((await textOf(path)) === text) await unlink(path)
}

/** Creates the file atomically from the draft. Returns false if the file already exists. */
async function createFrom(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error
      // Not every file system supports hard links.
      return copyFile(draft, path, constants.COPYFILE_EXCL)
    })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
