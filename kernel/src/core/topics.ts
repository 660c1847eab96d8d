import type { Topics } from '@svc/contracts'

interface Topic {
  version: number
  readonly subscribers: Set<(topic: string) => void>
}

/** Versions of topics and their subscribers. Outlives generations, so that a reload loses no subscription. */
export class TopicBoard implements Topics {
  readonly #topics = new Map<string, Topic>()
  readonly #onError: (error: unknown) => void

  /** `onError`: receives errors that a subscriber throws. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  changed(topic: string): void {
    const known = this.#topics.get(topic)
    if (known === undefined) {
      this.#topics.set(topic, { version: 1, subscribers: new Set() })
      return
    }
    known.version += 1
    if (known.subscribers.size > 0) this.#wake(topic, known)
  }

  version(topic: string): number {
    return this.#topics.get(topic)?.version ?? 0
  }

  watched(topic: string): boolean {
    return (this.#topics.get(topic)?.subscribers.size ?? 0) > 0
  }

  subscribe(topics: readonly string[], wake: (topic: string) => void): () => void {
    // A new function for each subscription: the same one may subscribe twice.
    const subscriber = (topic: string): void => wake(topic)
    const subscribed = [...topics]
    for (const name of subscribed) {
      const topic = this.#topics.get(name) ?? { version: 0, subscribers: new Set() }
      topic.subscribers.add(subscriber)
      this.#topics.set(name, topic)
    }
    return () => {
      for (const name of subscribed) {
        const topic = this.#topics.get(name)
        topic?.subscribers.delete(subscriber)
        if (topic?.version === 0 && topic.subscribers.size === 0) this.#topics.delete(name)
      }
    }
  }

  #wake(name: string, { subscribers }: Topic): void {
    // Copied, since a subscriber may end its subscription or begin another.
    for (const subscriber of [...subscribers]) {
      if (!subscribers.has(subscriber)) continue
      try {
        subscriber(name)
      } catch (error) {
        // The plugin that announced the change is not at fault.
        this.#onError(error)
      }
    }
  }
}
