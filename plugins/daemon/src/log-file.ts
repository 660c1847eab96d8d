import { copyFileSync, existsSync, fstatSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Where a daemon that has no terminal writes its log. */
export function logPath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'daemon.log')
}

/** Whether this process's standard error is that file. */
export function isOwnLog(path: string): boolean {
  try {
    const [own, file] = [fstatSync(2), statSync(path)]
    return own.isFile() && own.dev === file.dev && own.ino === file.ino
  } catch {
    return false
  }
}

/**
 * Puts what was written aside when it is more than `maxBytes`, as `PATH.1`, and keeps `files` of such. The file itself stays the
 * one that the daemon has open, which appends to it: it is copied and emptied in one go, so that no line of the daemon's own
 * thread comes between.
 */
export function rotate(path: string, maxBytes: number, files: number): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= maxBytes) return false
  for (let number = files - 1; number >= 1; number--) {
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`)
  }
  if (files > 0) copyFileSync(path, `${path}.1`)
  truncateSync(path)
  // More were kept once.
  for (let number = files + 1; existsSync(`${path}.${number}`); number++) rmSync(`${path}.${number}`)
  return true
}
