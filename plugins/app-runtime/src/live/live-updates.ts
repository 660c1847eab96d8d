/** Receives what clients were sent: `source` is a query or a topic. */
export type OnUpdate = (source: string, clients: number) => void

/** Reports live updates, once for all clients that receive one in the same turn of the event loop. */
export class LiveUpdates {
  readonly #onUpdate: OnUpdate
  /** Numbers of clients by topic and id of the change. */
  readonly #changes = new Map<string, Map<number, number>>()

  constructor(onUpdate: OnUpdate) {
    this.#onUpdate = onUpdate
  }

  /** Called after a new result of a query was sent to its clients. */
  result(query: string, clients: number): void {
    if (clients > 0) this.#onUpdate(`query ${query}`, clients)
  }

  /** Called for each client that is sent a change. */
  change(topic: string, id: number): void {
    if (this.#changes.size === 0) setImmediate(() => this.#flush())
    let counts = this.#changes.get(topic)
    if (counts === undefined) {
      counts = new Map()
      this.#changes.set(topic, counts)
    }
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }

  #flush(): void {
    for (const [topic, counts] of this.#changes) this.#onUpdate(`topic ${topic}`, Math.max(...counts.values()))
    this.#changes.clear()
  }
}
