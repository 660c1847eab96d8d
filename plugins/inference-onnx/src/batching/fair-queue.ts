/** Result of adding an entry. `displaced`: entry that was removed for the new one; `false`: the queue is full. */
export type Added<A> = { readonly displaced: A | null } | false

/**
 * Queue with a limit for each new entry, fair between clients and FIFO within each client.
 *
 * If the queue is full, a new entry replaces the last entry of the client with the most, provided the new entry's
 * client has at least two fewer.
 */
export class FairQueue<A> {
  /** Queues by client; the client whose turn is next comes first. */
  readonly #queues = new Map<string, A[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** `capacity`: maximum entries, including the new one. */
  add(client: string, one: A, capacity: number): Added<A> {
    let displaced: A | null = null
    if (this.#size >= capacity) {
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

  /** Removes an entry; true if it was present. */
  remove(client: string, one: A): boolean {
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
