import { raceAbort } from '@svc/plugin-sdk'

/** Resolves after that many milliseconds; rejects with the reason of the signal. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const waiting = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  return raceAbort(signal, waiting).finally(() => clearTimeout(timer))
}

/** A signal that is aborted with the first of other signals, or after a time, until it is closed. */
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
