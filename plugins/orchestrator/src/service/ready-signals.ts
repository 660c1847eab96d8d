interface Waiter {
  readonly signal: AbortSignal
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

interface ReadySignal {
  /** True if there may be new work since the last check. */
  isFresh: boolean
  readonly waiting: Set<Waiter>
  /** Abort signals that already have a listener, since a worker passes the same signal for every wait. */
  readonly signals: WeakSet<AbortSignal>
}

/** Wakes workers that wait for tasks of their agent, so that they need not poll. */
export class ReadySignals {
  readonly #agents = new Map<number, ReadySignal>()

  /** Wakes the workers of an agent that may have work. Cheap if none waits. */
  runnable(agent: number): void {
    const ready = this.#agents.get(agent)
    if (ready === undefined) return
    ready.isFresh = true
    if (ready.waiting.size === 0) return
    for (const { resolve } of ready.waiting) resolve()
    ready.waiting.clear()
  }

  /** Must be called when a worker checks for work. */
  looked(agent: number): void {
    const ready = this.#agents.get(agent)
    if (ready === undefined) this.#agents.set(agent, { isFresh: false, waiting: new Set(), signals: new WeakSet() })
    else ready.isFresh = false
  }

  /** Resolves when there may be new work since the last check. Rejects with the abort reason of `signal`. */
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

  /** Wakes the workers of a removed agent, so that they check and notice. */
  forget(agent: number): void {
    this.runnable(agent)
    this.#agents.delete(agent)
  }

  /** Wakes all workers, so that they check and notice the close. */
  close(): void {
    for (const agent of [...this.#agents.keys()]) this.forget(agent)
  }
}
