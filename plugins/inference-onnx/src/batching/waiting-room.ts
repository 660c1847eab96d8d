/** Result of entering: `displaced` is the entry removed for the new one, `false` means full. */
export type Entered<A> = { readonly displaced: A | null } | false

/**
 * A bounded queue, fair between clients and FIFO within each client.
 *
 * When it is full, a client with at least two entries fewer than another one replaces the last entry of that one.
 */
export class WaitingRoom<A> {
  readonly #capacity: number
  /** The next client comes first. */
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

  /** True if the entry was present. */
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
