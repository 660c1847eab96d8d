/** Maximum delay of a Node.js timer in milliseconds; with a longer one, it would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Waits for the work, or rejects with the reason of the signal. After an abort, the work continues, and its rejection
 * is ignored.
 */
export async function raceAbort<A>(signal: AbortSignal | undefined, work: PromiseLike<A>): Promise<A> {
  if (signal === undefined) return work
  // Without this handler, a rejection after an abort would be unhandled.
  work.then(undefined, () => {})
  signal.throwIfAborted()
  let abort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Returns a signal that is aborted with another one, or after a time with a `TimeoutError`. Use it for calls that end
 * soon instead of `AbortSignal.any` with `AbortSignal.timeout`: Node 20 may free a timeout to which only a combined signal
 * refers, so that it never aborts.
 */
export function limitedSignal(signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(Math.min(milliseconds, MAX_TIMER_MS))
  // A signal with a listener is not freed.
  limit.addEventListener('abort', () => {}, { once: true })
  return AbortSignal.any([signal, limit])
}

/** Resolves when the signal is aborted. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Signal that is aborted by the first of several signals or time limits, with its reason. `close` removes the listeners
 * and timers. Use it instead of `AbortSignal.any` if a source outlives the result: in Node 20, a signal keeps a
 * reference to each result of `AbortSignal.any` for as long as it exists.
 */
export class LinkedSignal {
  readonly #controller = new AbortController()
  readonly #undo: (() => void)[] = []

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  with(source: AbortSignal): this {
    const abort = (): void => this.#controller.abort(source.reason)
    if (source.aborted) {
      abort()
      return this
    }
    source.addEventListener('abort', abort, { once: true })
    this.#undo.push(() => source.removeEventListener('abort', abort))
    return this
  }

  after(milliseconds: number, reason: () => unknown): this {
    const timer = setTimeout(() => this.#controller.abort(reason()), Math.min(milliseconds, MAX_TIMER_MS))
    this.#undo.push(() => clearTimeout(timer))
    return this
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo()
  }
}

export interface TimeoutOptions {
  /** Signal of the caller. Its abort rejects the promise with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Creates the error of a timeout; default: a `TimeoutError` that names the limit. */
  readonly error?: () => unknown
}

/**
 * Runs work with a time limit. The work receives a signal that is aborted at the limit, or with the caller's signal.
 * The promise then rejects immediately, even if the work ignores the signal.
 */
export async function withTimeout<A>(
  milliseconds: number,
  work: (signal: AbortSignal) => PromiseLike<A>,
  options: TimeoutOptions = {}
): Promise<A> {
  const { signal } = options
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(
    () =>
      controller.abort(options.error?.() ?? new DOMException(`no result within ${milliseconds} ms`, 'TimeoutError')),
    Math.min(milliseconds, MAX_TIMER_MS)
  )
  try {
    return await raceAbort(controller.signal, work(controller.signal))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Resolves to true if the promise fulfils within the limit and before an abort, else to false. Forwards its rejection.
 */
export async function settlesWithin(
  milliseconds: number,
  promise: PromiseLike<unknown>,
  signal?: AbortSignal
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  let stop = (): void => {}
  const late = new Promise<false>(resolve => {
    stop = () => resolve(false)
    timer = setTimeout(stop, Math.min(milliseconds, MAX_TIMER_MS))
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
