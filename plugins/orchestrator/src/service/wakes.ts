interface Wake {
  /** Whether something came up since the last look. */
  isFresh: boolean
  readonly waiting: Set<() => void>
}

/** Who waits for work of an agent. Nobody asks again and again: whoever has looked is told when it is worth another look. */
export class Wakes {
  readonly #agents = new Map<number, Wake>()

  /** There may be something for the agent. Cheap where nobody has ever looked. */
  runnable(agent: number): void {
    const wake = this.#agents.get(agent)
    if (wake === undefined) return
    wake.isFresh = true
    if (wake.waiting.size === 0) return
    const waiting = [...wake.waiting]
    wake.waiting.clear()
    for (const resolve of waiting) resolve()
  }

  /** Somebody looks now. */
  looked(agent: number): void {
    const wake = this.#agents.get(agent)
    if (wake === undefined) this.#agents.set(agent, { isFresh: false, waiting: new Set() })
    else wake.isFresh = false
  }

  /** Resolves when there may be something that was not there at the last look. Rejects with the reason of the signal. */
  wait(agent: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const wake = this.#agents.get(agent)
    if (wake === undefined || wake.isFresh) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const woken = () => {
        signal.removeEventListener('abort', aborted)
        resolve()
      }
      const aborted = () => {
        wake.waiting.delete(woken)
        reject(signal.reason)
      }
      wake.waiting.add(woken)
      signal.addEventListener('abort', aborted, { once: true })
    })
  }

  /** The agent is gone: whoever waits looks, and finds that. */
  forget(agent: number): void {
    this.runnable(agent)
    this.#agents.delete(agent)
  }

  /** Whoever waits looks, and finds that nothing comes any more. */
  close(): void {
    for (const agent of [...this.#agents.keys()]) this.forget(agent)
  }
}
