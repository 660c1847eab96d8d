import type { Readable } from 'node:stream'
import { runErrors } from '../errors.ts'
import type { StagedFile } from './staging.ts'

/** A range of bytes, both ends included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Holds the content of files by key. Keys are lower-case hexadecimal digits and slashes. */
export interface BlobStore {
  /**
   * Takes over a complete local file, which may then be gone. Once it resolves, the content survives a crash of the
   * process and of the machine. Throws `RUN_STORAGE_FULL` and `RUN_STORAGE`.
   */
  put(key: string, file: StagedFile): Promise<void>
  /** Returns the content or a part of it. Throws `RUN_FILE_UNKNOWN`, and `RUN_STORAGE`. */
  read(key: string, range?: ByteRange): Promise<Readable>
  /** Removes content, if it is there. */
  remove(key: string): Promise<void>
  /** Yields the keys below a prefix with the time when they were stored. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly storedAt: number }>
  /** Removes what is left below a prefix of uploads that began before a time and never ended. */
  clean(prefix: string, before: number): Promise<void>
  /** Throws `RUN_STORAGE` if the store cannot be used. */
  check(): Promise<void>
}

export function fileUnknown(id: string): Error {
  return runErrors.create('RUN_FILE_UNKNOWN', `there is no file ${id}`)
}

/** Returns the error of a failed operation on a disk. */
export function diskFailure(error: unknown, what: string): Error {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return runErrors.create('RUN_STORAGE_FULL', `${what}: the disk is full`, { cause: error })
  }
  return runErrors.create('RUN_STORAGE', `${what}: ${message}`, { cause: error })
}
