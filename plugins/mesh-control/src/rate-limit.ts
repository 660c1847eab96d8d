import type { Coordination } from '@svc/contracts'
import { refuse } from './refusal.ts'

export interface RateLimitOptions {
  readonly perSecond: number
  readonly burst: number
  readonly store: () => Pick<Coordination, 'takeTokens'>
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** Maximum number of clients whose tokens this process holds. */
const MAX_CLIENTS = 10_000

interface Client {
  /** Tokens that this process took from the store and has not spent. */
  tokens: number
  /** Until then the store has no token, in milliseconds of the clock. */
  emptyUntil: number
  /** The call to the store that is under way. */
  taking: Promise<void> | null
}

/**
 * Rate limit by client over all control planes. The store holds the buckets. This process takes blocks of a tenth of a
 * second's tokens and spends them locally, so that the limit is exact and costs a tenth of the writes.
 */
export class RateLimit {
  readonly #options: RateLimitOptions
  readonly #block: number
  readonly #now: () => number
  readonly #clients = new Map<string, Client>()

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#block = Math.max(1, Math.floor(Math.min(options.perSecond / 10, options.burst)))
    this.#now = options.now ?? (() => performance.now())
  }

  /** Takes a token of a client. Throws `MSC_RATE_LIMITED`, and errors of the store. */
  async take(key: string): Promise<void> {
    const client = this.#clientOf(key)
    while (client.tokens < 1) {
      const waitMs = client.emptyUntil - this.#now()
      if (waitMs > 0) throw refuse('MSC_RATE_LIMITED', this.#text(), waitMs)
      await (client.taking ??= this.#refill(key, client))
    }
    client.tokens -= 1
  }

  async #refill(key: string, client: Client): Promise<void> {
    const { perSecond, burst, store } = this.#options
    try {
      const taken = await store().takeTokens(`mesh-ip:${key}`, { perSecond, burst, wanted: this.#block })
      client.tokens += taken
      if (taken < 1) client.emptyUntil = this.#now() + 1_000 / perSecond
    } finally {
      client.taking = null
    }
  }

  #clientOf(key: string): Client {
    const known = this.#clients.get(key)
    if (known !== undefined) {
      // The order of the map is that of last use.
      this.#clients.delete(key)
      this.#clients.set(key, known)
      return known
    }
    if (this.#clients.size >= MAX_CLIENTS) {
      const [oldest] = this.#clients.keys()
      this.#clients.delete(oldest as string)
    }
    const client: Client = { tokens: 0, emptyUntil: -Infinity, taking: null }
    this.#clients.set(key, client)
    return client
  }

  #text(): string {
    return `rate limit exceeded (max ${this.#options.perSecond} requests/second)`
  }
}
