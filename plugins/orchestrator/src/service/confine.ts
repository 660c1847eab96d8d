import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { orchestrationErrors } from '@svc/contracts'
import { outside, repositoryPath } from '../state/files.ts'

/** Maximum number of links that one path may contain, as in Linux. */
const MAX_LINKS = 40

/**
 * Returns a function that resolves the symbolic links of a path inside the repository, so that a file has one path, whatever
 * links lead to it. Throws `ORC_SCOPE_DENIED` for a path that leaves the repository. It is synchronous (one `lstat` per
 * folder), so that concurrent commands keep their order. A missing path is allowed.
 */
export function confineTo(root: string): (path: string) => string {
  let home: string | undefined
  return path => {
    const clean = repositoryPath(path)
    // The parent of a link's target is another folder than that of the link, so `..` cannot be removed first.
    const hasParents = path.includes('..')
    let rest = hasParents ? partsOf(path) : clean.split('/')
    let folder = root
    let links = 0
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      if (part === '..') {
        folder = dirname(folder)
        if (!isWithin(links === 0 ? root : (home as string), folder)) throw outside(path)
        continue
      }
      const at = join(folder, part)
      const found = statOf(at)
      if (found === null) {
        const left = partsUntilLeft(rest)
        if (left === null) {
          folder = join(at, ...rest)
          break
        }
        rest = rest.slice(left)
        continue
      }
      if (found.isSymbolicLink()) {
        home ??= realpathSync(root)
        const target = targetOf(at)
        if (target === null || !isWithin(home, target) || ++links > MAX_LINKS) throw leaves(path, at, target, root)
        folder = target
      } else folder = at
    }
    if (links === 0 && !hasParents) return clean
    return repositoryPath(pathIn(links === 0 ? root : (home as string), folder))
  }
}

function partsOf(path: string): string[] {
  return path
    .replaceAll('\\', '/')
    .split('/')
    .filter(part => part !== '' && part !== '.')
}

/** Returns the number of parts of a path that return from a missing folder to its parent; null if they do not. */
function partsUntilLeft(parts: readonly string[]): number | null {
  let depth = 1
  for (const [at, part] of parts.entries()) {
    depth += part === '..' ? -1 : 1
    if (depth === 0) return at + 1
  }
  return null
}

function pathIn(home: string, path: string): string {
  return relative(home, path).replaceAll(sep, '/')
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
 * Returns the real path of a link. Returns null for a dangling link, which counts as outside: a write through it would create
 * a file at an unchecked path.
 */
function targetOf(link: string): string | null {
  try {
    return realpathSync(link)
  } catch {
    return null
  }
}

function isWithin(home: string, path: string): boolean {
  const way = relative(home, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function leaves(path: string, link: string, target: string | null, root: string): Error {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
  const named = relative(root, link).replaceAll(sep, '/')
  const place = target ?? resolve(dirname(link), readlinkSync(link))
  const where = target === null ? `${place}, which does not exist` : `${place}, outside the repository`
  const message = `Scope denied: "${shown}" is not a path inside the repository: ${named} is a symbolic link to ${where}`
  return orchestrationErrors.create('ORC_SCOPE_DENIED', message, {
    hint: 'name a file inside the repository, or replace the link by a copy'
  })
}
