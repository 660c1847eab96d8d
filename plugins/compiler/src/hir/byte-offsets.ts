import type { HirSpan } from '@svc/contracts'
import type { Span } from '../syntax/node.ts'

/** Converts UTF-16 offsets of a source to UTF-8 offsets. */
export class ByteOffsets {
  /** null for ASCII sources, whose offsets are equal. */
  readonly #bytes: Uint32Array | null

  constructor(text: string) {
    this.#bytes = Buffer.byteLength(text) === text.length ? null : byteOffsets(text)
  }

  span({ start, end }: Span): HirSpan {
    const bytes = this.#bytes
    if (bytes === null) return { start, end }
    return { start: bytes[start] as number, end: bytes[end] as number }
  }
}

/** Converts UTF-8 offsets of a source to UTF-16 offsets. */
export class SourceOffsets {
  /** UTF-16 offset of each byte; null for ASCII sources, whose offsets are equal. */
  readonly #offsets: Uint32Array | null

  constructor(text: string) {
    const size = Buffer.byteLength(text)
    if (size === text.length) {
      this.#offsets = null
      return
    }
    this.#offsets = new Uint32Array(size + 1)
    for (const [at, byte] of byteOffsets(text).entries()) this.#offsets[byte] = at
  }

  span({ start, end }: HirSpan): Span {
    const offsets = this.#offsets
    if (offsets === null) return { start, end }
    return { start: offsets[start] as number, end: offsets[end] as number }
  }
}

function byteOffsets(text: string): Uint32Array {
  const offsets = new Uint32Array(text.length + 1)
  let total = 0
  for (let at = 0; at < text.length; at++) {
    offsets[at] = total
    const code = text.charCodeAt(at)
    const isPair = (code & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (isPair) {
      // No offset is between the halves of a surrogate pair.
      offsets[++at] = total
      total += 4
    } else total += code < 0x80 ? 1 : code < 0x800 ? 2 : 3
  }
  offsets[text.length] = total
  return offsets
}
