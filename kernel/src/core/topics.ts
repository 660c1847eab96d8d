import type { Topics } from '@svc/contracts'

/** Versions of topics and their subscribers. Outlives generations, so that a reload loses no subscription. */
export class TopicBoard implements Topics {
  readonly #versions = new Map<string, number>()
  readonly #subscribers = new Map<string, Set<(topic: string) => void>>()

  changed(topic: string): void {
    this.#versions.set(topic, (this.#versions.get(topic) ?? 0) + 1)
    const subscribers = this.#subscribers.get(topic)
    if (subscribers !== undefined) for (const wake of subscribers) wake(topic)
  }

  version(topic: string): number {
    return this.#versions.get(topic) ?? 0
  }

  subscribe(topics: readonly string[], wake: (topic: string) => void): () => void {
    // A new function for each subscription: the same one may subscribe twice.
    const subscriber = (topic: string): void => wake(topic)
    for (const topic of topics) {
      const subscribers = this.#subscribers.get(topic) ?? new Set()
      subscribers.add(subscriber)
      this.#subscribers.set(topic, subscribers)
    }
    return () => {
      for (const topic of topics) {
        const subscribers = this.#subscribers.get(topic)
        subscribers?.delete(subscriber)
        if (subscribers?.size === 0) this.#subscribers.delete(topic)
      }
    }
  }
}
