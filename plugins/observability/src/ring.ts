export interface RingLimits<A> {
  readonly maxItems: number
  readonly maxBytes?: number
  /** Size of an item; required for `maxBytes`. */
  readonly bytesOf?: (item: A) => number
}

/** Content of a ring. Plain data, so that it outlives a reload of the code. */
export interface RingState<A> {
  /** Circular: the oldest item is at `first`. */
  readonly items: (A | undefined)[]
  first: number
  size: number
  bytes: number
  /** Number of items that were ever added. */
  added: number
}

export function newRingState<A>(): RingState<A> {
  return { items: [], first: 0, size: 0, bytes: 0, added: 0 }
}

/** Ring buffer: keeps the newest items within a maximum count and size. */
export class Ring<A> {
  readonly #maxItems: number
  readonly #maxBytes: number
  readonly #bytesOf: ((item: A) => number) | undefined
  readonly #state: RingState<A>

  /** `state`: that of an earlier ring with the same `maxItems`. */
  constructor({ maxItems, maxBytes = Infinity, bytesOf }: RingLimits<A>, state: RingState<A> = newRingState()) {
    this.#maxItems = maxItems
    this.#maxBytes = maxBytes
    this.#bytesOf = bytesOf
    this.#state = state
  }

  push(item: A): void {
    const state = this.#state
    if (state.size === this.#maxItems) this.#dropOldest()
    let at = state.first + state.size
    if (at >= this.#maxItems) at -= this.#maxItems
    state.items[at] = item
    state.size += 1
    state.added += 1
    if (this.#bytesOf === undefined) return
    state.bytes += this.#bytesOf(item)
    while (state.bytes > this.#maxBytes && state.size > 1) this.#dropOldest()
  }

  get size(): number {
    return this.#state.size
  }

  /** Number of the oldest item; items are numbered from 0 in the order in which they were added. */
  get oldest(): number {
    return this.#state.added - this.#state.size
  }

  /** Number of items that were ever added: the number of the next item. */
  get added(): number {
    return this.#state.added
  }

  /** Returns an item by its number, from `oldest` to `added - 1`. */
  at(number: number): A {
    const { items, first } = this.#state
    return items[(first + number - this.oldest) % this.#maxItems] as A
  }

  /** Returns the items, oldest first. */
  items(): readonly A[] {
    const { items, first, size } = this.#state
    const end = first + size
    const tail = items.slice(first, Math.min(end, this.#maxItems))
    return (end > this.#maxItems ? [...tail, ...items.slice(0, end - this.#maxItems)] : tail) as A[]
  }

  #dropOldest(): void {
    const state = this.#state
    const { first } = state
    if (this.#bytesOf !== undefined) state.bytes -= this.#bytesOf(state.items[first] as A)
    state.items[first] = undefined
    state.first = first + 1 === this.#maxItems ? 0 : first + 1
    state.size -= 1
  }
}
