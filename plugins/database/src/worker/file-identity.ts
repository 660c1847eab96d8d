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
/** Resolution of a file system's time stamps in milliseconds: two writes within it can have the same stamp. */
const STAMP_MS = 10

/** Size and time of a file, which stand for its contents. */
interface Stamp {
  readonly size: number
  /** Time of the last change; programs cannot set it. */
  readonly ctimeMs: number
  /** False if a later write could have the same stamp. */
  readonly isFinal: boolean
}

/**
 * Detects that an open database file was removed, replaced, truncated or overwritten, or its write-ahead log removed or
 * replaced. SQLite keeps writing to such a file without an error, and the next process does not see the changes. A log
 * that is emptied or overwritten in place is not noticed.
 */
export class FileIdentity {
  readonly id: FileId
  readonly #file: string
  readonly #wal: FileId | null
  readonly #agrees: (thorough: boolean) => boolean
  /** Stamp of the contents that agreed with the connection. */
  #agreed: Stamp
  #verifiedAt = 0

  /**
   * Records the identity of the files of a connection that has already read. `agrees` compares the file with that
   * connection; it runs at the beginning of a transaction if the file has changed, and thoroughly if it got smaller.
   * `expected` is the identity from an earlier opening. Throws `FILE_LOST`.
   */
  constructor(file: string, agrees: (thorough: boolean) => boolean, expected?: FileId) {
    this.#file = file
    this.#agrees = agrees
    const found = FileIdentity.assertSame(file, expected)
    this.id = { dev: found.dev, ino: found.ino }
    this.#agreed = stampOf(found)
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
    const found = this.#stat()
    if (!this.#isAgreed(found)) {
      // A checkpoint after VACUUM also shrinks the file.
      if (!this.#agrees(found.size < this.#agreed.size)) throw overwritten()
      this.#agreed = stampOf(found)
    }
    this.#verifiedAt = performance.now()
  }

  /** Called before COMMIT. Throws `FILE_LOST`; does nothing within 10 ms of `verifyBegun`. */
  verifyCommit(): void {
    if (performance.now() - this.#verifiedAt > MAX_AGE_MS) this.verify()
  }

  /**
   * Throws `FILE_LOST` if the files are not the opened ones, or got smaller. Costs two stat calls. Does not compare
   * contents: within a transaction the connection has pages that the file lacks.
   */
  verify(): void {
    if (this.#stat().size < this.#agreed.size) throw overwritten()
  }

  /** True if the file has changed since its contents were compared; `verifyBegun` compares them again. */
  isChanged(): boolean {
    return !this.#isAgreed(this.#stat())
  }

  /** Runs a checkpoint of this connection, which changes the file. */
  checkpoint(run: () => void): void {
    const isChanged = this.isChanged()
    run()
    // A change by someone else must not count as one of the checkpoint.
    if (!isChanged) this.#agreed = stampOf(FileIdentity.assertSame(this.#file, this.id))
  }

  #isAgreed({ size, ctimeMs }: Stats): boolean {
    return this.#agreed.isFinal && size === this.#agreed.size && ctimeMs === this.#agreed.ctimeMs
  }

  /** Returns the file's stat. Throws `FILE_LOST` if the files are not the opened ones. */
  #stat(): Stats {
    const found = FileIdentity.assertSame(this.#file, this.id)
    if (found.size === 0 || found.size % MIN_PAGE_BYTES !== 0) throw overwritten()
    if (this.#wal === null) return found
    const wal = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })
    if (wal === undefined || !isSame(wal, this.#wal))
      throw lost('the write-ahead log was removed or replaced while the file was open')
    return found
  }
}

function stampOf({ size, ctimeMs }: Stats): Stamp {
  return { size, ctimeMs, isFinal: Math.abs(Date.now() - ctimeMs) > STAMP_MS }
}

function isSame(a: FileId, b: FileId): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

function lost(why: string): EngineFailure {
  return new EngineFailure(why, 'FILE_LOST')
}

function overwritten(): EngineFailure {
  return lost('the file was overwritten while it was open')
}
