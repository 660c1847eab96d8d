import { skillsGatewayErrors } from '@svc/contracts'

export interface Deadline {
  readonly milliseconds: number
  /** What does not end in time, for the error. */
  readonly what: string
  /** The caller's. */
  readonly signal: AbortSignal | undefined
}

/** Runs something that takes a signal. Throws `SKG_TIMEOUT` when the time is over, and the reason of the caller's signal. */
export async function withinDeadline<A>(
  { milliseconds, what, signal }: Deadline,
  run: (signal: AbortSignal) => Promise<A>
): Promise<A> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(() => {
    controller.abort(skillsGatewayErrors.create('SKG_TIMEOUT', `${what} took longer than ${milliseconds} ms`))
  }, milliseconds)
  try {
    return await run(controller.signal)
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Waits no longer than the signal allows; the work itself goes on. */
export async function unlessAborted<A>(work: Promise<A>, signal: AbortSignal | undefined): Promise<A> {
  if (signal === undefined) return work
  signal.throwIfAborted()
  let abort: () => void = () => undefined
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
