import { inferenceErrors } from '../errors.ts'

/** Thrown if the header continues after the bytes that were read. */
export class MoreBytesNeeded extends Error {}

/** Reads little-endian values from the first bytes of a GGUF file. Checks every length against the size of the file. */
export class Cursor {
  readonly path: string
  readonly fileSize: number
  readonly #bytes: Buffer
  #offset = 0

  /** `bytes`: beginning of the file. */
  constructor(path: string, fileSize: number, bytes: Buffer) {
    this.path = path
    this.fileSize = fileSize
    this.#bytes = bytes
  }

  get offset(): number {
    return this.#offset
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  i8(): number {
    return this.#bytes.readInt8(this.#take(1))
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2))
  }

  i16(): number {
    return this.#bytes.readInt16LE(this.#take(2))
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }

  i32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }

  u64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8))
  }

  i64(): bigint {
    return this.#bytes.readBigInt64LE(this.#take(8))
  }

  f32(): number {
    return this.#bytes.readFloatLE(this.#take(4))
  }

  f64(): number {
    return this.#bytes.readDoubleLE(this.#take(8))
  }

  bool(): boolean {
    const at = this.#offset
    const value = this.u8()
    if (value > 1) throw this.malformed(`the value ${value} is neither true nor false`, at)
    return value === 1
  }

  /** Reads a length, which must not exceed `limit`, and so many bytes of UTF-8. Invalid sequences become U+FFFD. */
  string(limit: number): string {
    const at = this.#offset
    const length = this.count(1, 'bytes of a string')
    if (length > limit) throw this.malformed(`a text of ${length} bytes exceeds the limit of ${limit} bytes`, at)
    const start = this.#take(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  /** Reads the number of items that follow, each of at least `itemBytes`. Throws if the rest of the file is too short. */
  count(itemBytes: number, what: string): number {
    const at = this.#offset
    const count = this.u64()
    if (count * BigInt(itemBytes) > BigInt(this.fileSize - this.#offset)) {
      throw this.truncated(`${count} ${what} do not fit into a file of ${this.fileSize} bytes`, at)
    }
    return Number(count)
  }

  malformed(reason: string, offset = this.#offset) {
    return inferenceErrors.create(
      'INF_RUN_DIR_MALFORMED',
      `${this.path} is not a valid GGUF file at byte ${offset}: ${reason}`,
      {
        at: { file: this.path },
        data: { file: this.path, offset },
        hint: 'Copy or download the file again.'
      }
    )
  }

  truncated(reason: string, offset = this.#offset) {
    return inferenceErrors.create('INF_RUN_DIR_TRUNCATED', `${this.path} is truncated at byte ${offset}: ${reason}`, {
      at: { file: this.path },
      data: { file: this.path, offset },
      hint: 'Copy or download the file again.'
    })
  }

  /** Advances by `length` bytes, and returns the offset of the first. */
  #take(length: number): number {
    const start = this.#offset
    const end = start + length
    if (end > this.fileSize) throw this.truncated(`the header continues, but the file has ${this.fileSize} bytes`)
    if (end > this.#bytes.byteLength) throw new MoreBytesNeeded()
    this.#offset = end
    return start
  }
}
