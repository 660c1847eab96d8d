// Finds many texts in bytes at once: Rabin-Karp with a window of eight bytes and a bitmap in front.
const WINDOW = 8
const BITS = 20

export class Search {
  #bitmap = new Uint8Array(1 << BITS)
  #patterns = new Map()

  /** Adds a pattern of at least 8 bytes; `key` is returned with its matches. */
  add(pattern, key) {
    const [low, high] = [pattern.readUInt32LE(0), pattern.readUInt32LE(4)]
    const hash = hashOf(low, high)
    this.#bitmap[hash] = 1
    const known = this.#patterns.get(hash)
    if (known === undefined) this.#patterns.set(hash, [{ pattern, key }])
    else known.push({ pattern, key })
  }

  /** Returns the keys of the patterns that occur, and the offset of the first occurrence of each. */
  find(bytes) {
    const found = new Map()
    if (bytes.length < WINDOW) return found
    const bitmap = this.#bitmap
    let low = bytes.readUInt32LE(0)
    let high = bytes.readUInt32LE(4)
    for (let at = 0; ; at++) {
      const hash = hashOf(low, high)
      if (bitmap[hash] === 1) {
        for (const { pattern, key } of this.#patterns.get(hash))
          if (!found.has(key) && bytes.subarray(at, at + pattern.length).equals(pattern)) found.set(key, at)
      }
      const next = at + WINDOW
      if (next >= bytes.length) return found
      low = (low >>> 8) | ((high & 255) << 24)
      high = (high >>> 8) | (bytes[next] << 24)
    }
  }
}

function hashOf(low, high) {
  const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> (32 - BITS)
}
