/** Builds the bytes of a GGUF file. */
export class GgufBytes {
  readonly #parts: Buffer[] = []

  get bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }

  u32(...values: number[]): this {
    return this.raw(Buffer.from(Uint32Array.from(values).buffer))
  }

  u64(...values: (number | bigint)[]): this {
    return this.raw(Buffer.from(BigUint64Array.from(values, BigInt).buffer))
  }

  text(value: string): this {
    return this.u64(Buffer.byteLength(value)).raw(Buffer.from(value))
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes)
    return this
  }

  /** Pads with zeros to a multiple of `alignment` bytes. */
  align(alignment = 32): this {
    return this.raw(Buffer.alloc((alignment - (this.bytes.byteLength % alignment)) % alignment))
  }

  /** Header of version 3. */
  header(tensors: number | bigint, pairs: number | bigint): this {
    return this.raw(Buffer.from('GGUF')).u32(3).u64(tensors, pairs)
  }

  /** Description of a tensor; the first dimension is the length of a row. */
  tensor(name: string, dimensions: readonly (number | bigint)[], type: number, offset: number | bigint): this {
    return this.text(name)
      .u32(dimensions.length)
      .u64(...dimensions)
      .u32(type)
      .u64(offset)
  }
}
