import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { meshPluginErrors } from './errors.ts'

/** Returns the text of a file; null if it does not exist. Throws `MSP_FILE_UNREADABLE`. */
export function readPrivateFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw unreadable(path, error)
  }
}

/** Returns a stamp that changes with the file; null if it does not exist. */
export function stampOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? null : `${stats.ino} ${stats.mtimeNs} ${stats.size}`
}

/** Writes a file that only this user can read, in one step. Throws `MSP_FILE_UNREADABLE`. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw unreadable(path, error)
  }
}

/**
 * Writes a file that only this user can read, unless it exists. Returns its text, which may be that of another process.
 * Throws `MSP_FILE_UNREADABLE`.
 */
export function createPrivateFile(path: string, text: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(path, 0o600)
    return text
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readPrivateFile(path) ?? text
    throw unreadable(path, error)
  }
}

function unreadable(path: string, cause: unknown): Error {
  return meshPluginErrors.create('MSP_FILE_UNREADABLE', `${path}: ${errorMessage(cause)}`, {
    at: { file: path },
    hint: 'correct the permissions of the file and its folder, or remove the file',
    cause
  })
}
