export interface RingLimits<A> {
  readonly maxItems: number
  readonly maxBytes?: number
  /** Size of an item; required for `maxBytes`. */
  readonly bytesOf?: (item: A) => number
}

/** Ring buffer: keeps the newest items within a maximum count and size. */
export class Ring<A> {
  readonly #limits: RingLimits<A>
  #items: A[] = []
  /** Index of the oldest item in `#items`. */
  #first = 0
  #bytes = 0

  constructor(limits: RingLimits<A>) {
    this.#limits = limits
  }

  push(item: A): void {
    const { maxItems, maxBytes = Infinity, bytesOf } = this.#limits
    this.#items.push(item)
    this.#bytes += bytesOf?.(item) ?? 0
    while (this.#items.length - this.#first > maxItems || (this.#bytes > maxBytes && this.size > 1)) this.#dropOldest()
    // Rare compaction keeps `push` cheap.
    if (this.#first > maxItems) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
  }

  get size(): number {
    return this.#items.length - this.#first
  }

  /** Returns the items, oldest first. */
  items(): readonly A[] {
    return this.#items.slice(this.#first)
  }

  #dropOldest(): void {
    this.#bytes -= this.#limits.bytesOf?.(this.#items[this.#first] as A) ?? 0
    this.#items[this.#first] = undefined as A
    this.#first += 1
  }
}
