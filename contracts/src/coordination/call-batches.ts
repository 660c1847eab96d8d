/** Maximum batches of one kind that run at the same time. */
const MAX_RUNNING = 2

export interface CallBatchesOptions<In, Out> {
  /** Runs the elements of several calls in one transaction. Returns one result for each element, in their order. */
  readonly run: (items: readonly In[]) => Promise<readonly Out[]>
  /** Maximum weight of a batch. A call with more is a separate batch. */
  readonly maxWeight: number
  /** Returns the weight of an element; default 1, so that `maxWeight` is a number of elements. */
  readonly weigh?: (item: In) => number
  /**
   * True if the error means that no element took effect, so that the calls of the batch may run again, one by one. Then
   * one call cannot fail the others. Default: never.
   */
  readonly hadNoEffect?: (error: unknown) => boolean
}

interface Waiting<In, Out> {
  readonly items: readonly In[]
  readonly weight: number
  readonly resolve: (results: readonly Out[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins calls of one kind: those of one turn of the event loop run as one batch. At most two batches run at a time; the
 * calls that arrive meanwhile form the next one. No timer delays a call.
 */
export class CallBatches<In, Out> {
  readonly #options: CallBatchesOptions<In, Out>
  readonly #waiting: Waiting<In, Out>[] = []
  #running = 0
  #scheduled = false

  constructor(options: CallBatchesOptions<In, Out>) {
    this.#options = options
  }

  /** Runs the elements together, with those of other calls. Returns their results in order. */
  call(items: readonly In[]): Promise<readonly Out[]> {
    if (items.length === 0) return Promise.resolve([])
    const { weigh } = this.#options
    const weight = weigh === undefined ? items.length : items.reduce((sum, item) => sum + weigh(item), 0)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, weight, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= MAX_RUNNING || this.#waiting.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#running < MAX_RUNNING && this.#waiting.length > 0) void this.#runBatch(this.#takeBatch())
    })
  }

  #takeBatch(): Waiting<In, Out>[] {
    let [calls, total] = [0, 0]
    for (const { weight } of this.#waiting) {
      if (calls > 0 && total + weight > this.#options.maxWeight) break
      calls += 1
      total += weight
    }
    return this.#waiting.splice(0, calls)
  }

  async #runBatch(calls: readonly Waiting<In, Out>[]): Promise<void> {
    this.#running += 1
    try {
      await this.#runCalls(calls)
    } catch (error) {
      if (calls.length > 1 && this.#options.hadNoEffect?.(error) === true)
        for (const call of calls) await this.#runCalls([call]).catch(call.reject)
      else for (const call of calls) call.reject(error)
    } finally {
      this.#running -= 1
      this.#schedule()
    }
  }

  async #runCalls(calls: readonly Waiting<In, Out>[]): Promise<void> {
    const results = await this.#options.run(calls.flatMap(({ items }) => items))
    let start = 0
    for (const { items, resolve } of calls) {
      resolve(results.slice(start, start + items.length))
      start += items.length
    }
  }
}
