import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its missing parents; no effect if it exists. Throws the system's error, also for a parent that
 * allows no folders, as in `/proc`: there Node's recursive `mkdir` never ends.
 */
export function makeFolder(path: string): void {
  try {
    makeAbove(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
    // A process confined to this folder can neither see nor create its parents. Node's `mkdir` works there.
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
