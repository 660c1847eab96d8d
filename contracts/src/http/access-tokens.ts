import { createHash, timingSafeEqual } from 'node:crypto'
import { clientKeyOf } from './client-key.ts'
import type { TokenBuckets } from './token-buckets.ts'

/** Length from which a token cannot be guessed: 22 random characters of base64url have more than 128 bits. */
export const MIN_STRONG_TOKEN_CHARS = 22

export interface TokenCheck {
  /** Index of the token that was sent; null if it is wrong, or was not compared. */
  readonly index: number | null
  /** Milliseconds until another token of this client is compared; 0 within the limit. */
  readonly waitMs: number
}

/**
 * Tokens that clients may send to a listener. Compares digests in constant time, which also hides their length.
 *
 * Each wrong token takes a token from the client's bucket. While that is empty, short tokens are not compared, so that
 * guesses are limited and not only their answers; their owner then has to wait, too, at the same address. Tokens of 22
 * characters or more are always compared: unlimited guesses do not find them, and no client can lock out their owner.
 */
export class AccessTokens {
  readonly #tokens: readonly { readonly digest: Buffer; readonly isStrong: boolean }[]
  readonly #hasShort: boolean
  readonly #wrong: TokenBuckets

  /** `wrong`: limit of wrong tokens per client. */
  constructor(tokens: readonly string[], wrong: TokenBuckets) {
    this.#tokens = tokens.map(token => ({ digest: digest(token), isStrong: token.length >= MIN_STRONG_TOKEN_CHARS }))
    this.#hasShort = this.#tokens.some(({ isStrong }) => !isStrong)
    this.#wrong = wrong
  }

  /** Maximum number of wrong tokens of a client per minute. */
  get perMinute(): number {
    return this.#wrong.perMinute
  }

  /** Checks a token of a client. `address`: its IP address, or any name of it. */
  check(token: string, address: string): TokenCheck {
    const client = clientKeyOf(address)
    const comparesShort = this.#hasShort && this.#wrong.wait(client) === 0
    const sent = digest(token)
    let index: number | null = null
    for (const [at, { digest, isStrong }] of this.#tokens.entries())
      if ((isStrong || comparesShort) && timingSafeEqual(sent, digest)) index = at
    return { index, waitMs: index === null ? this.#wrong.take(client) : 0 }
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
