import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { blake3 } from '@noble/hashes/blake3.js'

const ALGORITHM = 'chacha20-poly1305'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Key-encryption key, which encrypts data keys. */
export interface KeyEncryptionKey {
  readonly ref: string
  readonly version: number
}

/** Encrypted value with its encrypted data key. */
export interface Sealed {
  readonly nonce: Uint8Array
  /** Encrypted value, followed by the tag of 16 bytes. */
  readonly ciphertext: Uint8Array
  /** Nonce of 12 bytes, encrypted data key of 32 bytes, tag of 16 bytes. */
  readonly wrappedKey: Uint8Array
}

/** Derives the key-encryption key from the master password: BLAKE3(BLAKE3(password) ‖ ref ‖ version as i64 LE). */
export function deriveKey(password: string, { ref, version }: KeyEncryptionKey): Uint8Array {
  return blake3(Buffer.concat([blake3(Buffer.from(password)), Buffer.from(ref), int64(version)]))
}

/** Encrypts a value with a new random data key, and the data key with `kek`. */
export function seal(value: string, kek: Uint8Array): Sealed {
  const key = randomBytes(KEY_BYTES)
  try {
    const nonce = randomBytes(NONCE_BYTES)
    return { nonce, ciphertext: encrypt(Buffer.from(value), key, nonce), wrappedKey: wrap(key, kek) }
  } finally {
    key.fill(0)
  }
}

/** Decrypts a value. Throws if the key does not fit or any byte was changed. */
export function unseal({ nonce, ciphertext, wrappedKey }: Sealed, kek: Uint8Array): string {
  const key = unwrap(wrappedKey, kek)
  try {
    return decrypt(ciphertext, key, nonce).toString('utf8')
  } finally {
    key.fill(0)
  }
}

/** Encrypts a data key with another key-encryption key. Throws if `from` does not fit. */
export function rewrapKey(wrappedKey: Uint8Array, from: Uint8Array, to: Uint8Array): Uint8Array {
  const key = unwrap(wrappedKey, from)
  try {
    return wrap(key, to)
  } finally {
    key.fill(0)
  }
}

/** Returns the BLAKE3 of byte strings, texts in UTF-8 and integers as i64 little-endian, as hex. */
export function digest(parts: readonly (Uint8Array | string | number)[]): string {
  const bytes = parts.map(part => (typeof part === 'number' ? int64(part) : Buffer.from(part as string)))
  return Buffer.from(blake3(Buffer.concat(bytes))).toString('hex')
}

/** Returns the keyed BLAKE3 of parts like {@link digest}, which cannot be computed without the key. */
export function authenticate(parts: readonly (string | number)[], key: Uint8Array): string {
  const bytes = parts.flatMap(part => [typeof part === 'number' ? int64(part) : Buffer.from(part), Buffer.of(0x1f)])
  return Buffer.from(blake3(Buffer.concat(bytes), { key })).toString('hex')
}

function wrap(key: Uint8Array, kek: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  return Buffer.concat([nonce, encrypt(key, kek, nonce)])
}

function unwrap(wrapped: Uint8Array, kek: Uint8Array): Buffer {
  const key = decrypt(wrapped.subarray(NONCE_BYTES), kek, wrapped.subarray(0, NONCE_BYTES))
  if (key.length !== KEY_BYTES) throw new Error('a data key has another length')
  return key
}

function encrypt(plain: Uint8Array, key: Uint8Array, nonce: Uint8Array): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(sealed: Uint8Array, key: Uint8Array, nonce: Uint8Array): Buffer {
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES)), decipher.final()])
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(value))
  return bytes
}
