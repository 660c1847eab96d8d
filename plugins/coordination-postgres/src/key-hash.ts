import { blake3 } from '@noble/hashes/blake3.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** Returns BLAKE3-128 of a queue and a key. Names of queues contain no U+001F. */
export function keyHash(queue: string, key: string): Buffer {
  return hashText(`${queue}\u001f${key}`)
}

/** Returns BLAKE3-128 of a text. */
export function hashText(text: string): Buffer {
  return Buffer.from(blake3(utf8ToBytes(text), { dkLen: 16 }))
}
