import { createHash } from 'node:crypto'

/** Returns the SHA3-256 of an answer, as hex. */
export function fingerprint(text: string): string {
  return createHash('sha3-256').update(text).digest('hex')
}
