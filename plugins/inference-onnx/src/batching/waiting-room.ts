/** Outcome of entering: `displaced` had to leave for the new one, `false` is a full room. */
export type Entered<A> = { readonly displaced: A | null } | false

/**
 * A bounded number of those who wait, let in client by client: each client's own come in their order.
 *
 * When the room is full, a client that has at least two fewer in it than another one takes the place of that one's last.
 */
export class WaitingRoom<A> {
  readonly #capacity: number
  /** The client whose turn is next comes first. */
  readonly #queues = new Map<string, A[]>()
  #size = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#size
  }

  enter(client: string, one: A): Entered<A> {
    let displaced: A | null = null
    if (this.#size >= this.#capacity) {
      const longest = this.#longest()
      const own = this.#queues.get(client)?.length ?? 0
      if (longest.length < own + 2) return false
      displaced = longest.pop() ?? null
      this.#size--
    }
    const queue = this.#queues.get(client) ?? []
    this.#queues.set(client, queue)
    queue.push(one)
    this.#size++
    return { displaced }
  }

  next(): A | null {
    for (const [client, queue] of this.#queues) {
      this.#queues.delete(client)
      const one = queue.shift()
      if (one === undefined) continue
      if (queue.length > 0) this.#queues.set(client, queue)
      this.#size--
      return one
    }
    return null
  }

  /** Whether the one was there. */
  leave(client: string, one: A): boolean {
    const queue = this.#queues.get(client)
    const index = queue?.indexOf(one) ?? -1
    if (queue === undefined || index === -1) return false
    queue.splice(index, 1)
    if (queue.length === 0) this.#queues.delete(client)
    this.#size--
    return true
  }

  #longest(): A[] {
    let longest: A[] = []
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue
    return longest
  }
}
