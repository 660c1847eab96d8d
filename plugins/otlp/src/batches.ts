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

/** Collects items and sends them in batches, one at a time. A full queue drops new items. */
export class Batches<A> {
  readonly #options: BatchOptions<A>
  #queue: A[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #dropped = 0

  constructor(options: BatchOptions<A>) {
    this.#options = options
  }

  add(item: A): void {
    const { maxQueue, maxBatch, delayMs } = this.#options
    if (this.#queue.length >= maxQueue) {
      this.#dropped += 1
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
      if (this.#dropped > 0) {
        this.#options.onLost(this.#dropped, new Error('the queue was full'))
        this.#dropped = 0
      }
    }
  }
}
