export interface BatchOptions<A> {
  /** Maximum items in the queue. */
  readonly maxQueue: number
  /** Maximum items of one batch. */
  readonly maxBatch: number
  readonly delayMs: number
  /** Sends a batch. Rejects if the batch is lost. */
  send(items: readonly A[]): Promise<void>
  /** Called after items were lost, because the queue was full or `send` rejected. */
  onLost(count: number, error: unknown): void
}

const FULL = new Error('the queue is full')

/** Collects items and sends them in batches, one at a time. A full queue drops new items. */
export class Batches<A> {
  readonly #options: BatchOptions<A>
  #queue: A[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined

  constructor(options: BatchOptions<A>) {
    this.#options = options
  }

  add(item: A): void {
    const { maxQueue, maxBatch, delayMs, onLost } = this.#options
    if (this.#queue.length >= maxQueue) {
      onLost(1, FULL)
      return
    }
    this.#queue.push(item)
    if (this.#queue.length >= maxBatch) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), delayMs)
  }

  /** Sends all queued items. Never rejects. */
  flush(): Promise<void> {
    return (this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    }))
  }

  /** Sends the remaining items. No items may be added afterwards. */
  async close(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.maxBatch)
      try {
        await this.#options.send(batch)
      } catch (error) {
        this.#options.onLost(batch.length, error)
      }
    }
  }
}
