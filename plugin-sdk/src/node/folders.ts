import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its missing parents. No effect if it exists. Throws the error of the system, even below `/proc`,
 * where Node's recursive `mkdir` never returns.
 */
export function makeFolder(path: string): void {
  try {
    makeAbove(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
    // In a sandbox with access only to this folder, parents cannot be read or created, but Node's `mkdir` works.
    mkdirSync(path, { recursive: true })
  }
}

function makeAbove(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (isFolder(path)) return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path || isFolder(parent)) throw error
    makeAbove(parent)
    makeAbove(path)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
