const utf8 = new TextEncoder()

/**
 * Writes a protobuf message. Parts are stored as references and joined at the end, so a large tensor is copied only
 * once.
 *
 * Wire format: https://protobuf.dev/programming-guides/encoding
 */
export class ProtoWriter {
  readonly #parts: Uint8Array[] = []
  #byteLength = 0

  /** Writes an `int32`, `int64` or enum field; negative numbers need ten bytes. */
  integer(field: number, value: number | bigint): this {
    this.#tag(field, 0)
    return this.#push(varint(value))
  }

  float(field: number, value: number): this {
    this.#tag(field, 5)
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setFloat32(0, value, true)
    return this.#push(bytes)
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, 2)
    this.#push(varint(value.byteLength))
    return this.#push(value)
  }

  string(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value))
  }

  message(field: number, value: ProtoWriter): this {
    this.#tag(field, 2)
    this.#push(varint(value.#byteLength))
    for (const part of value.#parts) this.#push(part)
    return this
  }

  /** Writes a field that is already encoded, with its tag. */
  raw(field: Uint8Array): this {
    return this.#push(field)
  }

  finish(): Uint8Array {
    const joined = new Uint8Array(this.#byteLength)
    let offset = 0
    for (const part of this.#parts) {
      joined.set(part, offset)
      offset += part.byteLength
    }
    return joined
  }

  #tag(field: number, wireType: number): void {
    this.#push(varint(field * 8 + wireType))
  }

  #push(part: Uint8Array): this {
    this.#parts.push(part)
    this.#byteLength += part.byteLength
    return this
  }
}

function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}
