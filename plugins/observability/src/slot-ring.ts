/** Content of a slot ring. Plain data, so that it outlives a reload of the code. */
export interface SlotState<A> {
  readonly slots: A[]
  /** Number of items that were ever added. */
  added: number
}

export function newSlotState<A>(): SlotState<A> {
  return { slots: [], added: 0 }
}

/**
 * Ring of reused objects. A record per request that lives for minutes makes the garbage collector copy it twice, which
 * costs as much as a third of a small request; an object that is filled again costs nothing. Readers must copy what they
 * keep.
 */
export class SlotRing<A extends object> {
  readonly #size: number
  readonly #state: SlotState<A>
  readonly #create: () => A

  /** `state`: that of an earlier ring of the same size. `create`: returns a slot without content. */
  constructor(size: number, create: () => A, state: SlotState<A> = newSlotState()) {
    this.#size = size
    this.#create = create
    this.#state = state
  }

  /** Returns the slot of the next item, which the caller has to fill completely. */
  next(): A {
    const { slots, added } = this.#state
    const at = added % this.#size
    this.#state.added = added + 1
    const known = slots[at]
    if (known !== undefined) return known
    const slot = this.#create()
    slots[at] = slot
    return slot
  }

  /** Number of the oldest item; items are numbered from 0 in the order in which they were added. */
  get oldest(): number {
    return Math.max(0, this.#state.added - this.#size)
  }

  /** Number of items that were ever added: the number of the next item. */
  get added(): number {
    return this.#state.added
  }

  /** Returns an item by its number, from `oldest` to `added - 1`. */
  at(number: number): A {
    return this.#state.slots[number % this.#size] as A
  }

  /** Returns the items, oldest first. */
  items(): A[] {
    return Array.from({ length: this.added - this.oldest }, (_, at) => this.at(this.oldest + at))
  }
}
