interface Bucket {
  tokens: number
  /** Time of the last refill in milliseconds. */
  at: number
}

/** Maximum number of buckets. */
const MAX_CLIENTS = 10_000
const MINUTE_MS = 60_000

/** Token buckets, one for each client. A bucket holds at most the tokens of one minute and refills at that rate. */
export class TokenBuckets {
  readonly perMinute: number
  readonly #now: () => number
  readonly #maxClients: number
  readonly #buckets = new Map<string, Bucket>()

  /** `now`: milliseconds of a monotonic clock. */
  constructor(perMinute: number, now: () => number = () => performance.now(), maxClients = MAX_CLIENTS) {
    this.perMinute = perMinute
    this.#now = now
    this.#maxClients = maxClients
  }

  /** Returns new buckets of the same size, all full. */
  another(): TokenBuckets {
    return new TokenBuckets(this.perMinute, this.#now, this.#maxClients)
  }

  /** Takes a token. Returns 0, or the milliseconds until the next token. */
  take(client: string): number {
    const now = this.#now()
    let bucket = this.#buckets.get(client)
    if (bucket === undefined) {
      this.#makeRoom(now)
      bucket = { tokens: this.perMinute, at: now }
      this.#buckets.set(client, bucket)
    } else {
      bucket.tokens = this.#tokensAt(bucket, now)
      bucket.at = now
    }
    const wait = this.#waitFor(bucket.tokens)
    if (wait === 0) bucket.tokens -= 1
    return wait
  }

  /** Returns the milliseconds until the next token, or 0; takes none. */
  wait(client: string): number {
    const bucket = this.#buckets.get(client)
    return bucket === undefined ? 0 : this.#waitFor(this.#tokensAt(bucket, this.#now()))
  }

  #tokensAt({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.perMinute, tokens + ((now - at) * this.perMinute) / MINUTE_MS)
  }

  #waitFor(tokens: number): number {
    return tokens < 1 ? ((1 - tokens) * MINUTE_MS) / this.perMinute : 0
  }

  get clients(): number {
    return this.#buckets.size
  }

  /** Drops clients whose bucket is full again, which happens within a minute without requests. */
  #makeRoom(now: number): void {
    if (this.#buckets.size < this.#maxClients) return
    for (const [client, { at }] of this.#buckets) if (now - at >= MINUTE_MS) this.#buckets.delete(client)
    if (this.#buckets.size < this.#maxClients) return
    const [oldest] = this.#buckets.keys()
    this.#buckets.delete(oldest as string)
  }
}
