/** Subscribers of queues in this process. */
export class Hints {
  readonly #subscribers = new Map<string, Set<(queue: string) => void>>()

  /** Returns the unsubscribe function. */
  subscribe(queues: readonly string[], on: (queue: string) => void): () => void {
    // Two subscriptions with one function are separate.
    const subscriber = (queue: string): void => on(queue)
    const names = new Set(queues)
    for (const name of names) {
      const known = this.#subscribers.get(name)
      if (known === undefined) this.#subscribers.set(name, new Set([subscriber]))
      else known.add(subscriber)
    }
    return () => {
      for (const name of names) {
        const known = this.#subscribers.get(name)
        known?.delete(subscriber)
        if (known?.size === 0) this.#subscribers.delete(name)
      }
    }
  }

  /** Notifies the subscribers of these queues in a later microtask, each queue once. */
  publish(queues: Iterable<string>): void {
    if (this.#subscribers.size === 0) return
    for (const queue of new Set(queues))
      for (const subscriber of this.#subscribers.get(queue) ?? []) queueMicrotask(() => subscriber(queue))
  }

  clear(): void {
    this.#subscribers.clear()
  }
}
