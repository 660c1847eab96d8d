/** One field of a protobuf message. */
export interface ProtoField {
  readonly number: number
  /** Content of a length-delimited field; empty otherwise. */
  readonly bytes: Uint8Array
  /** Value of a varint field; 0 otherwise. */
  readonly integer: bigint
  /** The whole encoded field, to be copied into another message. */
  readonly raw: Uint8Array
}

const text = new TextDecoder()

export function textOf(field: ProtoField): string {
  return text.decode(field.bytes)
}

/** Yields the fields of a message, in order. Throws an `Error` with the byte offset if the message is damaged. */
export function* protoFields(message: Uint8Array): Generator<ProtoField> {
  let position = 0
  const fail = (reason: string) => new Error(`${reason} at byte ${position}`)
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[position++]
      if (byte === undefined) throw fail('the message ends inside a number')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
    throw fail('a number is too long')
  }
  while (position < message.length) {
    const start = position
    const tag = Number(varint())
    let integer = 0n
    let bytes = new Uint8Array()
    switch (tag & 7) {
      case 0:
        integer = varint()
        break
      case 1:
        position += 8
        break
      case 2: {
        const length = Number(varint())
        bytes = message.subarray(position, position + length) as Uint8Array<ArrayBuffer>
        position += length
        break
      }
      case 5:
        position += 4
        break
      default:
        throw fail(`field type ${tag & 7} is unknown`)
    }
    if (position > message.length) throw fail('the message ends inside a field')
    yield { number: tag >>> 3, bytes, integer, raw: message.subarray(start, position) }
  }
}
