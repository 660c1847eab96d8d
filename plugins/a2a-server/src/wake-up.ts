/** Remembers that something happened until it is waited for. One wait at a time. */
export class WakeUp {
  #isSet = false
  #end = (): void => undefined

  set(): void {
    this.#isSet = true
    this.#end()
  }

  /** Resolves once it was set since the last wait, after the milliseconds, or when the signal is aborted. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#isSet && !signal.aborted) await this.#next(milliseconds, signal)
    this.#isSet = false
  }

  #next(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      signal.addEventListener('abort', end)
      this.#end = end
    })
  }
}
