import { createHash } from 'node:crypto'

const BYTES = 16

/** Returns 128 bits of a queue and a key, as base64url. Names of queues contain no U+001F. */
export function keyHash(queue: string, key: string): string {
  return hashText(`${queue}\u001f${key}`)
}

/** Returns 128 bits of SHA-256, as base64url. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, BYTES).toString('base64url')
}
