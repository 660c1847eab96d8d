import { WireFailure } from '@svc/contracts'
import { MAX_TIMER_MS } from '@svc/plugin-sdk'

export interface StreamLimits {
  /** Milliseconds until the first event. */
  readonly firstMs: number
  /** Milliseconds between two events. */
  readonly idleMs: number
}

/**
 * Yields the events of a stream. Ends it with a `WireFailure` with the status 504 if the first or the next event does
 * not arrive in time. `controller`: ends the request.
 */
export async function* timed<A>(
  open: (signal: AbortSignal) => AsyncIterable<A>,
  { firstMs, idleMs }: StreamLimits,
  controller: AbortController
): AsyncGenerator<A, void> {
  let failure: WireFailure | undefined
  let timer: NodeJS.Timeout | undefined
  const start = (milliseconds: number, what: string): void => {
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        failure = new WireFailure(504, `${what} within ${milliseconds} ms`)
        controller.abort(failure)
      },
      Math.min(milliseconds, MAX_TIMER_MS)
    )
  }
  start(firstMs, 'no answer began')
  try {
    for await (const event of open(controller.signal)) {
      clearTimeout(timer)
      yield event
      start(idleMs, 'the answer did not continue')
    }
  } catch (error) {
    throw failure ?? error
  } finally {
    clearTimeout(timer)
  }
}
