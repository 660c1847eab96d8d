import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Secret that is sent as `<id>.<secret>`, such as a sign-in code. */
export interface Pair {
  readonly id: string
  readonly secret: string
}

const PAIR = /^([0-9a-f]{16})\.([A-Za-z0-9_-]{43})$/

/** Returns 16 random hex digits. */
export function newId(): string {
  return randomBytes(8).toString('hex')
}

/** Returns 32 random bytes in base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text)
}

/** Parses `<id>.<secret>`; null if it has another form. */
export function parsePair(text: string): Pair | null {
  const [, id, secret] = PAIR.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}

/** Returns the SHA-256 of a secret in hex. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Compares a secret with a stored digest in constant time. */
export function matches(secret: string, digest: string): boolean {
  const expected = Buffer.from(digest, 'hex')
  const actual = Buffer.from(digestOf(secret), 'hex')
  return expected.length === actual.length && timingSafeEqual(actual, expected)
}
