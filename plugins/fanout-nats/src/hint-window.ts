/** Interval in which hints about one queue are joined. */
const WINDOW_MS = 20
/** Maximum queues in one interval. Hints about further ones are lost. */
const MAX_QUEUES = 1_000

/**
 * Limits the rate of hints: the first hint about a queue passes immediately, those of the next 20 ms become one at
 * their end.
 */
export class HintWindow {
  readonly #emit: (queue: string) => void
  /** Queues with a hint in this interval; true if another one followed. */
  readonly #queues = new Map<string, boolean>()
  #timer: NodeJS.Timeout | null = null

  constructor(emit: (queue: string) => void) {
    this.#emit = emit
  }

  add(queue: string): void {
    if (this.#queues.has(queue)) {
      this.#queues.set(queue, true)
      return
    }
    if (this.#queues.size >= MAX_QUEUES) return
    this.#queues.set(queue, false)
    this.#timer ??= setInterval(() => this.#end(), WINDOW_MS).unref()
    this.#emit(queue)
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#queues.clear()
  }

  #end(): void {
    for (const [queue, isRepeated] of this.#queues) {
      if (isRepeated) {
        this.#queues.set(queue, false)
        this.#emit(queue)
      } else this.#queues.delete(queue)
    }
    if (this.#queues.size === 0) this.close()
  }
}
