import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it that are missing; nothing where it is there. Throws what the system says, also where a
 * parent is there that takes no folders, as in `/proc`: Node's own recursive `mkdir` tries that without end.
 */
export function makeFolder(path: string): void {
  try {
    makeAbove(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw error
    // A process that may use only this folder can neither see nor create those above it; Node does that in its stead.
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
