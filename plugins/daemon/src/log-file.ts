import { copyFileSync, existsSync, fstatSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the path of the log of a background daemon. */
export function logPath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'daemon.log')
}

/** True if the standard error of this process is this file. */
export function isOwnLog(path: string): boolean {
  try {
    const [own, file] = [fstatSync(2), statSync(path)]
    return own.isFile() && own.dev === file.dev && own.ino === file.ino
  } catch {
    return false
  }
}

/**
 * Rotates the log to `PATH.1` if it is larger than `maxBytes`, and keeps `files` old logs. The daemon has the file
 * open, so the log is copied and truncated. This is synchronous, so that no line of the daemon's main thread is lost.
 */
export function rotate(path: string, maxBytes: number, files: number): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= maxBytes) return false
  for (let number = files - 1; number >= 1; number--) {
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`)
  }
  if (files > 0) copyFileSync(path, `${path}.1`)
  truncateSync(path)
  // An earlier setting may have kept more files.
  for (let number = files + 1; existsSync(`${path}.${number}`); number++) rmSync(`${path}.${number}`)
  return true
}
