import { damaged } from '../errors.ts'

/** Reads a stream of bytes in pieces of requested sizes. Throws `BKP_DAMAGED` at an early end. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Returns up to `bytes` bytes, fewer only at the end, and keeps them for the next read. */
  async peek(bytes: number): Promise<Buffer> {
    while (this.#held.length < bytes) {
      const { done, value } = await this.#source.next()
      if (done === true) break
      this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value])
    }
    return this.#held.subarray(0, bytes)
  }

  /** Returns this many bytes, which are held in memory. */
  async exactly(bytes: number): Promise<Buffer> {
    const found = await this.peek(bytes)
    if (found.length < bytes) throw damaged('it is incomplete')
    this.#held = this.#held.subarray(bytes)
    return found
  }

  /** Yields this many bytes in pieces. */
  async *pieces(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      const found = this.#held.length > 0 ? this.#held : await this.peek(1)
      if (found.length === 0) throw damaged('it is incomplete')
      const piece = this.#held.subarray(0, Math.min(left, this.#held.length))
      this.#held = this.#held.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  /** Yields everything that follows. */
  async *rest(): AsyncGenerator<Buffer> {
    if (this.#held.length > 0) yield this.#held
    this.#held = Buffer.alloc(0)
    for (;;) {
      const { done, value } = await this.#source.next()
      if (done === true) return
      yield value
    }
  }

  /** Ends the source. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }
}
