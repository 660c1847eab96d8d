import { createHash, timingSafeEqual } from 'node:crypto'

/** Bearer token. Compares digests in constant time, which also hides the token's length. */
export class BearerToken {
  readonly #digest: Buffer

  constructor(token: string) {
    this.#digest = digest(token)
  }

  /** Returns whether an Authorization header has the token. The scheme is case-insensitive (RFC 9110, 11.1). */
  matches(header: string | undefined): boolean {
    const token = header === undefined ? undefined : /^bearer +(\S+)$/i.exec(header)?.[1]
    return token !== undefined && timingSafeEqual(digest(token), this.#digest)
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
