import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it that are missing; nothing where it is there. Throws what the system says, also where a
 * parent is there that takes no folders, as in `/proc`: Node's own recursive `mkdir` tries that without end.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (isFolder(path) === true) return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path || isFolder(parent) === true) throw error
    if (isFolder(parent) === 'hidden') {
      // A process that may use this folder alone is not told of those above; Node makes them in its stead.
      mkdirSync(path, { recursive: true })
      return
    }
    makeFolder(parent)
    makeFolder(path)
  }
}

function isFolder(path: string): boolean | 'hidden' {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED') return 'hidden'
    throw error
  }
}
