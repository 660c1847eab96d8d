interface Waiter {
  readonly signal: AbortSignal
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

interface ReadySignal {
  /** Whether something has changed since the last check. */
  isFresh: boolean
  readonly waiting: Set<Waiter>
  /** Signals with listeners: a worker that waits repeatedly has one signal for all of it. */
  readonly signals: WeakSet<AbortSignal>
}

/** Notifies workers that wait for tasks of their agent, so that they need not poll. */
export class ReadySignals {
  readonly #agents = new Map<number, ReadySignal>()

  /** An agent may have work. Cheap without waiting workers. */
  runnable(agent: number): void {
    const ready = this.#agents.get(agent)
    if (ready === undefined) return
    ready.isFresh = true
    if (ready.waiting.size === 0) return
    for (const { resolve } of ready.waiting) resolve()
    ready.waiting.clear()
  }

  /** A worker looks now. */
  looked(agent: number): void {
    const ready = this.#agents.get(agent)
    if (ready === undefined) this.#agents.set(agent, { isFresh: false, waiting: new Set(), signals: new WeakSet() })
    else ready.isFresh = false
  }

  /** Resolves when there may be new work since the last check. Rejects with the reason of the signal. */
  wait(agent: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const ready = this.#agents.get(agent)
    if (ready === undefined || ready.isFresh) return Promise.resolve()
    this.#listen(ready, signal)
    return new Promise((resolve, reject) => ready.waiting.add({ signal, resolve, reject }))
  }

  #listen({ signals, waiting }: ReadySignal, signal: AbortSignal): void {
    if (signals.has(signal)) return
    signals.add(signal)
    const aborted = () => {
      for (const waiter of waiting) {
        if (waiter.signal !== signal) continue
        waiting.delete(waiter)
        waiter.reject(signal.reason)
      }
    }
    signal.addEventListener('abort', aborted, { once: true })
  }

  /** The agent has left: waiting workers check and notice. */
  forget(agent: number): void {
    this.runnable(agent)
    this.#agents.delete(agent)
  }

  /** Waiting workers check, and learn that no more work will come. */
  close(): void {
    for (const agent of [...this.#agents.keys()]) this.forget(agent)
  }
}
