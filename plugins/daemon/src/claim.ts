import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeFolder } from '@svc/plugin-sdk/folders'

/** Poll interval for a process that is taking over, in milliseconds. */
const STEP_MS = 10

/** Null: the caller owns the file. Otherwise the owner, as the file says. */
export type Claim = string | null

/**
 * Creates a file with this text unless a living process owns it; replaces the file of a dead process. Of
 * concurrent processes, exactly one succeeds. `text` must differ for every claim except a renewal. `lives` returns true
 * if the process in a file's text is alive.
 *
 * Readers never see a partial file. A dead process's file is replaced under a second lock file, named by a digest of
 * the old text. That lock is claimed in the same way. Its holder finds the old text, or a replacement by another
 * process.
 */
export async function claim(path: string, text: string, lives: (text: string) => Promise<boolean>): Promise<Claim> {
  makeFolder(dirname(path))
  const draft = `${path}.${process.pid}.${digest(text)}.tmp`
  await writeFile(draft, text, { mode: 0o600 })
  try {
    for (;;) {
      if (await createFrom(draft, path)) return null
      const found = await textOf(path)
      if (found === null) continue
      if (found === text) return null
      if (await lives(found)) return found
      const turn = `${path}.${digest(found)}`
      if ((await claim(turn, text, lives)) !== null) {
        await delay(STEP_MS)
        continue
      }
      const mine = (await textOf(path)) === found
      if (mine) await rename(draft, path)
      await unlink(turn)
      if (mine) return null
    }
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

/** Removes the file if it still has this text. */
export async function release(path: string, text: string): Promise<void> {
  if ((await textOf(path)) === text) await unlink(path)
}

/** False if a file exists already. */
async function createFrom(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error
      // Not every file system supports links.
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
