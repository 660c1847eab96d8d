const FIRST_MS = 50
const MAX_PAUSE_MS = 5_000

/** The pauses between tries: twice as long each time, up to five seconds, and none quite like another. */
export class Pause {
  #wake: (() => void) | null = null
  #ended = false
  #closed = false

  /** `failures`: in a row, from 1. False where there is to be no further try. */
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
