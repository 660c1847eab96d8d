import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its missing parents. No effect if it exists. Throws the error of the system, even below `/proc`,
 * where Node's recursive `mkdir` never returns.
 */
export function makeFolder(path: string): void {
  make(path, undefined)
}

/** Creates a folder like {@link makeFolder}; only the user can read what it creates, whatever the umask. */
export function makePrivateFolder(path: string): void {
  make(path, 0o700)
}

function make(path: string, mode: number | undefined): void {
  try {
    makeAbove(path, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
    // In a sandbox with access only to this folder, parents cannot be read or created, but Node's `mkdir` works.
    mkdirSync(path, { recursive: true, ...(mode === undefined ? {} : { mode }) })
  }
}

function makeAbove(path: string, mode: number | undefined): void {
  try {
    mkdirSync(path, mode)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (isFolder(path)) return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path || isFolder(parent)) throw error
    makeAbove(parent, mode)
    makeAbove(path, mode)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
