interface Bucket {
  tokens: number
  /** Milliseconds, when it was filled up last. */
  at: number
}

/** Clients that are remembered at once. */
const MOST_CLIENTS = 10_000
const MINUTE_MS = 60_000

/** A token bucket for each client: it holds a minute's worth and fills at that rate. */
export class TokenBuckets {
  readonly perMinute: number
  readonly #now: () => number
  readonly #mostClients: number
  readonly #buckets = new Map<string, Bucket>()

  /** `now`: milliseconds on a clock that never goes back. */
  constructor(perMinute: number, now: () => number = () => performance.now(), mostClients = MOST_CLIENTS) {
    this.perMinute = perMinute
    this.#now = now
    this.#mostClients = mostClients
  }

  /** Buckets of the same size, all full. */
  another(): TokenBuckets {
    return new TokenBuckets(this.perMinute, this.#now, this.#mostClients)
  }

  /** Takes one. 0, or the milliseconds until there is one again. */
  take(client: string): number {
    const now = this.#now()
    let bucket = this.#buckets.get(client)
    if (bucket === undefined) {
      this.#makeRoom(now)
      bucket = { tokens: this.perMinute, at: now }
      this.#buckets.set(client, bucket)
    } else {
      bucket.tokens = Math.min(this.perMinute, bucket.tokens + ((now - bucket.at) * this.perMinute) / MINUTE_MS)
      bucket.at = now
    }
    if (bucket.tokens < 1) return ((1 - bucket.tokens) * MINUTE_MS) / this.perMinute
    bucket.tokens -= 1
    return 0
  }

  get clients(): number {
    return this.#buckets.size
  }

  /** A client that is not seen for a minute has a full bucket again, so that nothing is lost by forgetting it. */
  #makeRoom(now: number): void {
    if (this.#buckets.size < this.#mostClients) return
    for (const [client, { at }] of this.#buckets) if (now - at >= MINUTE_MS) this.#buckets.delete(client)
    if (this.#buckets.size < this.#mostClients) return
    const [oldest] = this.#buckets.keys()
    this.#buckets.delete(oldest as string)
  }
}
