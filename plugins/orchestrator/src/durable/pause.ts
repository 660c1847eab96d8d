const FIRST_MS = 50
const MAX_PAUSE_MS = 5_000

/** Exponential backoff with jitter, up to five seconds. */
export class Pause {
  #wake: (() => void) | null = null
  #ended = false
  #closed = false

  /** `failures`: consecutive failures, from 1. False if there is no further retry. */
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

  /** Ends the pause, and shortens the next ones: a caller waits. */
  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  /** No more tries. */
  close(): void {
    this.#closed = true
    this.#wake?.()
  }
}
