import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Permissions of the group and of other users. */
const OTHERS = 0o077
/** Folder whose content is no secret, and may be large. */
const CACHE = 'cache'

/**
 * Removes the permissions of other users from the state folder and its files, except the cache. Returns the number of
 * changed entries. Symbolic links and entries of other users stay as they are.
 */
export function makePrivate(stateFolder: string): number {
  if (process.platform === 'win32') return 0
  let changed = 0
  const visit = (path: string, isTop: boolean): void => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.isSymbolicLink()) return
    try {
      if ((found.mode & OTHERS) !== 0) {
        chmodSync(path, found.mode & 0o7777 & ~OTHERS)
        changed += 1
      }
      if (!found.isDirectory()) return
      for (const name of readdirSync(path)) if (!isTop || name !== CACHE) visit(join(path, name), false)
    } catch {
      // Another user owns the entry, or it was removed meanwhile.
    }
  }
  visit(stateFolder, true)
  return changed
}
