import { lstatSync, realpathSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { outside, repositoryPath } from '../state/files.ts'

/**
 * Returns a check that a path of the repository does not leave it through a symbolic link. It throws `ORC_SCOPE_DENIED`.
 * Synchronous, one `lstat` per folder, so that concurrent commands keep their order. A path that does not exist yet is allowed.
 */
export function confineTo(root: string): (path: string) => void {
  let home: string | undefined
  return path => {
    const parts = repositoryPath(path).split('/')
    let folder = root
    for (const part of parts) {
      folder = join(folder, part)
      const found = statOf(folder)
      if (found === null) return
      if (!found.isSymbolicLink()) continue
      home ??= realpathSync(root)
      if (!isWithin(home, targetOf(folder))) throw outside(path)
    }
  }
}

function statOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null
  } catch {
    // A file where a folder is expected: nothing below it can be a link.
    return null
  }
}

/** The real path of a link; for a dangling link, empty, since a write through it would create a file at an unknown place. */
function targetOf(link: string): string {
  try {
    return realpathSync(link)
  } catch {
    return ''
  }
}

function isWithin(home: string, path: string): boolean {
  const way = relative(home, path)
  return path !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
