/** The longest delay that a timer of Node.js takes; a longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Waits for the work, or rejects with the reason of the signal. The work itself continues after an abort, and its late
 * rejection is ignored.
 */
export async function raceAbort<A>(signal: AbortSignal | undefined, work: PromiseLike<A>): Promise<A> {
  if (signal === undefined) return work
  // After an abort nothing else handles the rejection.
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

/** Resolves when the signal is aborted. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

export interface TimeoutOptions {
  /** The caller's signal. Its abort ends the work with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Creates the error of a timeout; default: a `TimeoutError` that names the limit. */
  readonly error?: () => unknown
}

/**
 * Runs work with a time limit. The work gets a signal that is aborted at the limit, or with the caller's signal; the
 * promise rejects at that moment, even if the work ignores the signal.
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

/** Resolves to false if the promise does not settle within the limit, or before the signal. Passes its rejection on. */
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
