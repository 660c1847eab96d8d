import type { CoordinationFanout } from '@svc/contracts'

/** Subscribers of queues in this process. With a transport, those of other processes get the hints, too. */
export class Hints {
  readonly #fanout: CoordinationFanout | null
  readonly #subscribers = new Map<string, Set<(queue: string) => void>>()
  readonly #leave = new Set<() => void>()

  constructor(fanout: CoordinationFanout | null) {
    this.#fanout = fanout
  }

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
    const leave = this.#fanout?.subscribe([...names], subscriber) ?? (() => {})
    this.#leave.add(leave)
    return () => {
      for (const name of names) {
        const known = this.#subscribers.get(name)
        known?.delete(subscriber)
        if (known?.size === 0) this.#subscribers.delete(name)
      }
      if (this.#leave.delete(leave)) leave()
    }
  }

  /** Notifies the subscribers of these queues in a later microtask, each queue once. */
  publish(queues: Iterable<string>): void {
    for (const queue of new Set(queues)) {
      this.#fanout?.publish(queue)
      for (const subscriber of this.#subscribers.get(queue) ?? []) queueMicrotask(() => subscriber(queue))
    }
  }

  clear(): void {
    this.#subscribers.clear()
    for (const leave of this.#leave) leave()
    this.#leave.clear()
  }
}
