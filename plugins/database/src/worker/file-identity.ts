import { type Stats, statSync } from 'node:fs'
import { EngineFailure } from './engine.ts'

/** SQLite's minimum page size in bytes; the size of every database file is a multiple. */
const MIN_PAGE_BYTES = 512

/** Device and inode. */
export interface FileId {
  readonly dev: number
  readonly ino: number
}

/** Milliseconds for which the check at the start of a transaction stays valid; later, COMMIT repeats it. */
const MAX_AGE_MS = 10

/**
 * Detects that an open database file, or its write-ahead log, was removed, replaced or truncated. SQLite keeps writing
 * to such a file without an error, and the next process does not see the changes.
 */
export class FileIdentity {
  readonly id: FileId
  readonly #file: string
  readonly #wal: FileId | null
  readonly #agrees: (thorough: boolean) => boolean
  #bytes: number
  #verifiedAt = 0

  /**
   * Records the identity of the files of a connection that has already read. `agrees` compares the file with that
   * connection; it runs at the beginning of a transaction if the size changed, and thoroughly if the file got smaller.
   * `expected` is the identity from an earlier opening. Throws `FILE_LOST`.
   */
  constructor(file: string, agrees: (thorough: boolean) => boolean, expected?: FileId) {
    this.#file = file
    this.#agrees = agrees
    const found = FileIdentity.assertSame(file, expected)
    this.id = { dev: found.dev, ino: found.ino }
    this.#bytes = found.size
    const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })
    this.#wal = wal === undefined ? null : { dev: wal.dev, ino: wal.ino }
  }

  /** Returns the file's stat. Throws `FILE_LOST` if it is missing or was replaced. */
  static assertSame(file: string, expected?: FileId): Stats {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found === undefined) throw lost('the file was removed while it was open')
    if (expected !== undefined && !isSame(found, expected)) throw lost('the file was replaced while it was open')
    return found
  }

  /** Called after BEGIN IMMEDIATE. Throws `FILE_LOST` if the next process would not see a commit. */
  verifyBegun(): void {
    this.#bytes = this.#verify(this.#agrees)
    this.#verifiedAt = performance.now()
  }

  /** Called before COMMIT. Throws `FILE_LOST`; does nothing within 10 ms of `verifyBegun`. */
  verifyCommit(): void {
    if (performance.now() - this.#verifiedAt > MAX_AGE_MS) this.verify()
  }

  /** Throws `FILE_LOST` if the files changed. Costs two stat calls. */
  verify(): void {
    // Within a transaction the connection has pages that the file lacks, so their contents are not compared.
    this.#verify(thorough => !thorough)
  }

  /** Called after a checkpoint of this connection, which changes the size. */
  recordSize(): void {
    this.#bytes = FileIdentity.assertSame(this.#file, this.id).size
  }

  /** Throws `FILE_LOST` if the files changed; returns the size in bytes. */
  #verify(agrees: (thorough: boolean) => boolean): number {
    const { size } = FileIdentity.assertSame(this.#file, this.id)
    const isDatabase = size > 0 && size % MIN_PAGE_BYTES === 0
    // A checkpoint after VACUUM also shrinks the file.
    if (!isDatabase || (size !== this.#bytes && !agrees(size < this.#bytes)))
      throw lost('the file was overwritten while it was open')
    if (this.#wal === null) return size
    const wal = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })
    if (wal === undefined || !isSame(wal, this.#wal))
      throw lost('the write-ahead log was removed or replaced while the file was open')
    return size
  }
}

function isSame(a: FileId, b: FileId): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

function lost(why: string): EngineFailure {
  return new EngineFailure(why, 'FILE_LOST')
}
