import { lstatSync, realpathSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { outside, repositoryPath } from '../state/files.ts'

/**
 * Returns a function that throws `ORC_SCOPE_DENIED` if a path leaves the repository through a symbolic link. It is
 * synchronous (one `lstat` per folder), so that concurrent commands keep their order. A missing path is allowed.
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
    // A file is in the place of a folder, so no link can be below it.
    return null
  }
}

/**
 * Returns the real path of a link. Returns an empty string for a dangling link, which counts as outside: a write through
 * it would create a file at an unchecked path.
 */
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
