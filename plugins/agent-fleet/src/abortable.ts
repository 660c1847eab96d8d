import { raceAbort } from '@svc/plugin-sdk'

/** Resolves after the time; rejects with the signal's reason if the signal is aborted first. */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  return raceAbort(signal, elapsed).finally(() => clearTimeout(timer))
}

/** Signal that is aborted by the first of several signals or timeouts; `close` removes its listeners and timers. */
export class LinkedSignal {
  readonly #controller = new AbortController()
  readonly #undo: (() => void)[] = []

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  with(source: AbortSignal): this {
    const abort = () => this.#controller.abort(source.reason)
    if (source.aborted) abort()
    source.addEventListener('abort', abort, { once: true })
    this.#undo.push(() => source.removeEventListener('abort', abort))
    return this
  }

  after(milliseconds: number, reason: () => unknown): this {
    const timer = setTimeout(() => this.#controller.abort(reason()), milliseconds)
    this.#undo.push(() => clearTimeout(timer))
    return this
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo()
  }
}
