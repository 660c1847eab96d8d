import { createHash, timingSafeEqual } from 'node:crypto'

/** A token with constant-time comparison of digests, which also hides its length. */
export class BearerToken {
  readonly #digest: Buffer

  constructor(token: string) {
    this.#digest = digest(token)
  }

  /** `header`: the Authorization header. The scheme's case does not matter (RFC 9110, 11.1). */
  matches(header: string | undefined): boolean {
    const token = header === undefined ? undefined : /^bearer +(\S+)$/i.exec(header)?.[1]
    return token !== undefined && timingSafeEqual(digest(token), this.#digest)
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
