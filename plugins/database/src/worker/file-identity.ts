import { type Stats, statSync } from 'node:fs'
import { EngineFailure } from './engine.ts'
import { WriteAheadLog } from './write-ahead-log.ts'

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
/** Writes that look for a reachable commit: a checkpoint by another process can empty the log after each. */
const MAX_PROBES = 3

/** Size and time of a file, which stand for its contents. */
interface Stamp {
  readonly size: number
  /** Time of the last change; programs cannot set it. */
  readonly ctimeMs: number
  /** False if a later write could have the same stamp. */
  readonly isFinal: boolean
}

/** Stamp of the write-ahead log; the last known frame is compared, too. */
type WalStamp = Pick<Stats, 'size' | 'ctimeMs'>

/**
 * Detects that an open database file, or its write-ahead log, was removed, replaced, truncated or overwritten. SQLite
 * keeps writing to such a file without an error, and the next process does not see the changes.
 */
export class FileIdentity {
  readonly id: FileId
  readonly #file: string
  /** Null if the file has no write-ahead log. */
  readonly #wal: WriteAheadLog | null
  readonly #walId: FileId | null
  readonly #agrees: (thorough: boolean) => boolean
  /** Stamp of the contents that agreed with the connection. */
  #agreed: Stamp
  /** Stamp of the log whose contents were compared; null before the first comparison. */
  #agreedWal: WalStamp | null = null
  /** True once a commit was not readable for a new process. */
  #isUnreachable = false
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
    const wal = `${file}-wal`
    this.#wal = statSync(wal, { throwIfNoEntry: false }) === undefined ? null : new WriteAheadLog(wal)
    const opened = this.#wal?.stat()
    this.#walId = opened === undefined ? null : { dev: opened.dev, ino: opened.ino }
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
    const found = this.#statFile()
    const wal = this.#statWal()
    if (!this.#isAgreed(found)) {
      // A checkpoint after VACUUM also shrinks the file.
      if (!this.#agrees(found.size < this.#agreed.size)) throw overwritten()
      this.#agreed = stampOf(found)
    }
    this.#verifyWal(wal)
    this.#verifiedAt = performance.now()
  }

  /** Called before COMMIT. Throws `FILE_LOST`; does nothing within 10 ms of `verifyBegun`. */
  verifyCommit(): void {
    if (performance.now() - this.#verifiedAt > MAX_AGE_MS) this.verify()
  }

  /**
   * Called after COMMIT. Throws `FILE_LOST` if a new process would not read the commit. `probe` commits a page without
   * a change.
   */
  verifyCommitted(probe: () => void): void {
    const wal = this.#wal
    if (wal === null) return
    const before = this.#agreedWal
    for (let probes = 0; ; probes += 1) {
      const stamp = wal.stat()
      if (stamp.nlink === 0) throw lost('the write-ahead log was removed or replaced while the file was open')
      if (wal.advance()) {
        this.#agreedWal = stamp
        return
      }
      // Without a write there is no commit to read.
      if (probes === 0 && before !== null && isSameStamp(stamp, before) && wal.isInPlace()) return
      const found = wal.reread()
      if (found === 'reset' && wal.hasCommits) {
        this.#agreedWal = stamp
        return
      }
      if (found === 'damaged' || probes === MAX_PROBES) break
      if (found === 'empty') wal.forget()
      // Another process may have reset the log since COMMIT, or rolled back a change that did not fit in its cache.
      probe()
    }
    this.#isUnreachable = true
    throw overwrittenWal()
  }

  close(): void {
    this.#wal?.close()
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
    return !this.#isAgreed(this.#stat()) || !this.#isWalAgreed(this.#statWal())
  }

  /** Runs a checkpoint of this connection, which changes the file. */
  checkpoint(run: () => void): void {
    const isChanged = !this.#isAgreed(this.#stat())
    run()
    // A change by someone else must not count as one of the checkpoint.
    if (!isChanged) this.#agreed = stampOf(FileIdentity.assertSame(this.#file, this.id))
  }

  #isAgreed({ size, ctimeMs }: Pick<Stats, 'size' | 'ctimeMs'>): boolean {
    return this.#agreed.isFinal && size === this.#agreed.size && ctimeMs === this.#agreed.ctimeMs
  }

  /** Returns the file's stat. Throws `FILE_LOST` if the files are not the opened ones. */
  #stat(): Stats {
    const found = this.#statFile()
    this.#statWal()
    return found
  }

  #statFile(): Stats {
    const found = FileIdentity.assertSame(this.#file, this.id)
    if (found.size === 0 || found.size % MIN_PAGE_BYTES !== 0) throw overwritten()
    return found
  }

  /** Returns the log's stat. Throws `FILE_LOST` if it is missing or was replaced. */
  #statWal(): WalStamp {
    if (this.#walId === null) return NO_WAL
    const wal = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })
    if (wal === undefined || !isSame(wal, this.#walId))
      throw lost('the write-ahead log was removed or replaced while the file was open')
    if (this.#isUnreachable) throw overwrittenWal()
    return wal
  }

  #isWalAgreed(stamp: WalStamp): boolean {
    return this.#wal === null || this.#agreedWal === null || isSameStamp(stamp, this.#agreedWal)
  }

  /** Compares the log if it has changed. Called with the write lock, with which SQLite does not change it. */
  #verifyWal(stamp: WalStamp): void {
    const wal = this.#wal
    if (wal === null) return
    if (this.#agreedWal !== null && isSameStamp(stamp, this.#agreedWal)) {
      // A change right after the last commit can have the same stamp.
      if (performance.now() - this.#verifiedAt > MAX_AGE_MS && !wal.isInPlace()) throw overwrittenWal()
      return
    }
    // Commits of other connections explain a change.
    if (!wal.advance()) {
      const found = wal.reread()
      if (found === 'damaged') throw overwrittenWal()
      if (found === 'empty' && wal.hasCommits) {
        // A checkpoint by another process can also empty the log.
        if (!this.#agrees(true)) throw overwrittenWal()
        wal.forget()
      }
    }
    this.#agreedWal = stamp
  }
}

/** Stamp of a log that does not exist. */
const NO_WAL: WalStamp = { size: 0, ctimeMs: 0 }

function stampOf({ size, ctimeMs }: Stats): Stamp {
  return { size, ctimeMs, isFinal: Math.abs(Date.now() - ctimeMs) > STAMP_MS }
}

function isSameStamp(a: WalStamp, b: WalStamp): boolean {
  return a.size === b.size && a.ctimeMs === b.ctimeMs
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

function overwrittenWal(): EngineFailure {
  return lost('the write-ahead log was overwritten while the file was open')
}
