import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { endianness } from 'node:os'

/** Sizes of the headers of the log and of a frame in bytes: https://www.sqlite.org/fileformat2.html#walformat */
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** First number of a log; its lowest bit is set if the checksums are of big-endian numbers. */
const MAGIC = 0x377f0682
const MIN_PAGE_BYTES = 512
const MAX_PAGE_BYTES = 65_536
/** Bytes of one read when the whole log is read. */
const CHUNK_BYTES = 1_048_576
/** Frames of the first read of a commit. */
const MIN_FRAMES = 2
/** Limit of the frames that one read of a commit includes. */
const MAX_FRAMES = 64
const IS_LITTLE = endianness() === 'LE'

type Checksum = readonly [number, number]

/** Part of the log that a new process would recover: all frames up to the last commit. */
interface Chain {
  readonly header: Buffer
  readonly pageBytes: number
  readonly swaps: boolean
  /** Offset after the last commit frame. */
  readonly end: number
  /** Checksum of the header and the frames before `end`. */
  readonly checksum: Checksum
}

/**
 * Reads the write-ahead log as a new process would: frames count only if their checksums form a chain from the header
 * on. The connections of this process use the shared index instead, and so do not notice a foreign change of the log.
 * Has its own descriptor: SQLite sets no locks on the log, so that closing it releases none.
 */
export class WriteAheadLog {
  readonly #handle: number
  #chain: Chain | null = null
  /** Frames of the last commit, and the known frame before it. */
  #usualFrames = MIN_FRAMES
  #buffer = Buffer.alloc(0)

  constructor(file: string) {
    this.#handle = openSync(file, 'r')
  }

  stat(): Stats {
    return fstatSync(this.#handle)
  }

  /** True if the log had a commit when it was last read. */
  get hasCommits(): boolean {
    return this.#chain !== null && this.#chain.end > HEADER_BYTES
  }

  /**
   * Reads the headers of the commits after the known ones. Returns false if there is none, or if the last known frame
   * has changed. Does not read the pages: SQLite has just written them.
   */
  advance(): boolean {
    const known = this.#chain
    if (known === null || known.end === HEADER_BYTES) return false
    const frameBytes = known.pageBytes + FRAME_HEADER_BYTES
    let { end, checksum } = known
    const salts = [known.header.readUInt32BE(16), known.header.readUInt32BE(20)]
    let offset = end - frameBytes
    let buffer = this.#bufferOf(this.#usualFrames, frameBytes)
    for (;;) {
      const bytes = this.#read(buffer, offset)
      let at = 0
      for (; at + FRAME_HEADER_BYTES <= bytes; at += frameBytes, offset += frameBytes) {
        const isOurs = buffer.readUInt32BE(at + 8) === salts[0] && buffer.readUInt32BE(at + 12) === salts[1]
        if (offset < known.end) {
          if (!isOurs || buffer.readUInt32BE(at + 16) !== checksum[0] || buffer.readUInt32BE(at + 20) !== checksum[1])
            return false
        } else if (!isOurs) return this.#advanced(known, end, checksum)
        else if (buffer.readUInt32BE(at + 4) !== 0) {
          end = offset + frameBytes
          checksum = [buffer.readUInt32BE(at + 16), buffer.readUInt32BE(at + 20)]
        }
      }
      if (bytes < buffer.length) return this.#advanced(known, end, checksum)
      buffer = this.#bufferOf(MAX_FRAMES, frameBytes)
    }
  }

  #advanced(known: Chain, end: number, checksum: Checksum): boolean {
    if (end === known.end) return false
    const frames = (end - known.end) / (known.pageBytes + FRAME_HEADER_BYTES)
    this.#usualFrames = Math.min(Math.max(frames + 1, MIN_FRAMES), MAX_FRAMES)
    const { header, pageBytes, swaps } = known
    this.#chain = { header, pageBytes, swaps, end, checksum }
    return true
  }

  /** Returns a buffer for frames and the header of the next. */
  #bufferOf(frames: number, frameBytes: number): Buffer {
    const bytes = frames * frameBytes + FRAME_HEADER_BYTES
    if (this.#buffer.length < bytes) this.#buffer = Buffer.allocUnsafeSlow(bytes)
    return this.#buffer.length === bytes ? this.#buffer : this.#buffer.subarray(0, bytes)
  }

  /** Returns whether the header and the last known frame are unchanged. */
  isInPlace(): boolean {
    return this.#chain === null || this.#isInPlace(this.#chain)
  }

  /**
   * Reads the whole log. Returns `kept` if the known commits are still in it, `reset` if SQLite has begun it again
   * after a checkpoint, `empty` if it has no bytes, else `damaged`.
   */
  reread(): 'kept' | 'reset' | 'empty' | 'damaged' {
    const known = this.#chain
    const start = this.#begin()
    if (start === null) {
      const isEmpty = fstatSync(this.#handle).size === 0
      if (known !== null) return isEmpty ? 'empty' : 'damaged'
      return isEmpty ? 'empty' : 'reset'
    }
    if (known === null || !known.header.equals(start.header)) {
      this.#chain = this.#follow(start, chunkFrames(start))
      return 'reset'
    }
    const atKnown = this.#follow(start, chunkFrames(start), known.end)
    const isKept =
      atKnown.end === known.end &&
      atKnown.checksum[0] === known.checksum[0] &&
      atKnown.checksum[1] === known.checksum[1]
    if (!isKept) return 'damaged'
    this.#chain = this.#follow(known, chunkFrames(known))
    return 'kept'
  }

  /** Forgets the known commits, which a checkpoint has moved to the database file. */
  forget(): void {
    this.#chain = null
  }

  close(): void {
    closeSync(this.#handle)
  }

  #isInPlace({ header, end, checksum, pageBytes }: Chain): boolean {
    const found = Buffer.alloc(HEADER_BYTES)
    if (this.#read(found, 0) < HEADER_BYTES || !found.equals(header)) return false
    if (end === HEADER_BYTES) return true
    const at = end - pageBytes - FRAME_HEADER_BYTES
    if (this.#read(found.subarray(0, FRAME_HEADER_BYTES), at) < FRAME_HEADER_BYTES) return false
    return found.readUInt32BE(16) === checksum[0] && found.readUInt32BE(20) === checksum[1]
  }

  /** Returns the chain that has only the header; null if the header is not valid. */
  #begin(): Chain | null {
    const header = Buffer.from(new ArrayBuffer(HEADER_BYTES))
    if (this.#read(header, 0) < HEADER_BYTES) return null
    const magic = header.readUInt32BE(0)
    if ((magic & ~1) !== MAGIC) return null
    const pageBytes = header.readUInt32BE(8)
    if (pageBytes < MIN_PAGE_BYTES || pageBytes > MAX_PAGE_BYTES || (pageBytes & (pageBytes - 1)) !== 0) return null
    const swaps = ((magic & 1) === 0) !== IS_LITTLE
    const checksum = checksumOf(header, 0, 24, [0, 0], swaps)
    if (checksum[0] !== header.readUInt32BE(24) || checksum[1] !== header.readUInt32BE(28)) return null
    return { header, pageBytes, swaps, end: HEADER_BYTES, checksum }
  }

  /** Returns the chain with the commits after `from`, up to the offset `until`. */
  #follow(from: Chain, frames: number, until = Number.POSITIVE_INFINITY): Chain {
    const frameBytes = from.pageBytes + FRAME_HEADER_BYTES
    const buffer = Buffer.from(new ArrayBuffer(frames * frameBytes))
    let { checksum, end } = from
    let committed: Checksum = checksum
    for (let offset = end; ; ) {
      const bytes = this.#read(buffer, offset)
      for (let at = 0; at + frameBytes <= bytes; at += frameBytes) {
        // The salts, which differ after each reset.
        if (offset >= until || buffer.compare(from.header, 16, 24, at + 8, at + 16) !== 0)
          return { ...from, end, checksum: committed }
        checksum = checksumOf(buffer, at, 8, checksum, from.swaps)
        checksum = checksumOf(buffer, at + FRAME_HEADER_BYTES, from.pageBytes, checksum, from.swaps)
        if (checksum[0] !== buffer.readUInt32BE(at + 16) || checksum[1] !== buffer.readUInt32BE(at + 20))
          return { ...from, end, checksum: committed }
        offset += frameBytes
        // A commit frame has the number of pages of the database.
        if (buffer.readUInt32BE(at + 4) !== 0) {
          end = offset
          committed = checksum
        }
      }
      if (bytes < buffer.length) return { ...from, end, checksum: committed }
    }
  }

  #read(buffer: Buffer, offset: number): number {
    return readSync(this.#handle, buffer, 0, buffer.length, offset)
  }
}

function chunkFrames({ pageBytes }: Chain): number {
  return Math.max(Math.floor(CHUNK_BYTES / (pageBytes + FRAME_HEADER_BYTES)), 1)
}

/** Continues SQLite's checksum over a part of a buffer; offset and length are multiples of 8. */
function checksumOf(buffer: Buffer, offset: number, length: number, from: Checksum, swaps: boolean): Checksum {
  const words = new Int32Array(buffer.buffer, buffer.byteOffset + offset, length / 4)
  let [first, second] = from
  for (let at = 0; at < words.length; at += 2) {
    const a = words[at] as number
    const b = words[at + 1] as number
    first = (((first + (swaps ? swapped(a) : a)) | 0) + second) | 0
    second = (((second + (swaps ? swapped(b) : b)) | 0) + first) | 0
  }
  return [first >>> 0, second >>> 0]
}

function swapped(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}
