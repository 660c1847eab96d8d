const OFFSET_HIGH = 0xcbf29ce4
const OFFSET_LOW = 0x84222325
/** Low part of the FNV prime 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3
const TWO_32 = 0x1_0000_0000

/** Returns the 64-bit FNV-1a hash of the text's UTF-8 as 16 hex digits (draft-eastlake-fnv). */
export function fnv1a64(text: string): string {
  let high = OFFSET_HIGH
  let low = OFFSET_LOW
  for (const byte of Buffer.from(text, 'utf8')) {
    low = (low ^ byte) >>> 0
    const product = low * PRIME_LOW
    high = (Math.imul(high, PRIME_LOW) + Math.floor(product / TWO_32) + (low << 8)) >>> 0
    low = product >>> 0
  }
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}

/** Returns the key of a message for which the caller passed none. */
export function defaultIdempotencyKey(sender: number, receiver: number, type: string, payload: string): string {
  return `mcp-a2a-${sender}-${receiver}-${fnv1a64(type + payload)}`
}
