import { copyFileSync, existsSync, fstatSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Log file of a daemon without a terminal. */
export function logPath(projectRoot: string): string {
  return join(projectRoot, '.vox', 'daemon.log')
}

/** True if this process's standard error is that file. */
export function isOwnLog(path: string): boolean {
  try {
    const [own, file] = [fstatSync(2), statSync(path)]
    return own.isFile() && own.dev === file.dev && own.ino === file.ino
  } catch {
    return false
  }
}

/**
 * Rotates the log to `PATH.1` if it is larger than `maxBytes`, and keeps `files` old ones. The daemon keeps
 * its open file: it is copied and truncated synchronously, so that no line of the daemon's own thread is lost.
 */
export function rotate(path: string, maxBytes: number, files: number): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= maxBytes) return false
  for (let number = files - 1; number >= 1; number--) {
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`)
  }
  if (files > 0) copyFileSync(path, `${path}.1`)
  truncateSync(path)
  // More files were kept under an earlier setting.
  for (let number = files + 1; existsSync(`${path}.${number}`); number++) rmSync(`${path}.${number}`)
  return true
}
