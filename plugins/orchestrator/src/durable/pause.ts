const FIRST_MS = 50
const MAX_PAUSE_MS = 5_000

/** Exponential backoff with jitter: at most 50 ms at first, doubled up to five seconds. */
export class Pause {
  #wake: (() => void) | null = null
  #ended = false
  #closed = false

  /** Waits before the next retry. `failures`: consecutive failures, from 1. Returns false after `close`. */
  async wait(failures: number): Promise<boolean> {
    const longest = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 16), MAX_PAUSE_MS)
    const milliseconds = longest * (0.5 + Math.random() / 2)
    if (this.#closed) return false
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, this.#ended ? Math.min(milliseconds, FIRST_MS) : milliseconds)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = null
    return !this.#closed
  }

  /** Ends the current pause, and limits later ones to 50 ms, since a caller waits. */
  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  /** Ends the retries. */
  close(): void {
    this.#closed = true
    this.#wake?.()
  }
}
