import { isBusy } from '../worker/engine.ts'

/** First wait for a lock; doubled after each attempt, up to the maximum. */
const MIN_WAIT_MS = 1
const MAX_WAIT_MS = 40

const idle = new Int32Array(new SharedArrayBuffer(4))

/**
 * Retries a call that failed because of a lock, for up to `limit` milliseconds. The thread sleeps in between: a wait
 * inside the binding would leave statements incomplete.
 */
export function retryWhileBusy<A>(limit: number, run: () => A): A {
  let until = -1
  for (let wait = MIN_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
    try {
      return run()
    } catch (error) {
      if (until < 0) until = performance.now() + limit
      if (!isBusy(error) || performance.now() + wait > until) throw error
      // Jitter: waiters in step would collide again.
      Atomics.wait(idle, 0, 0, wait * (0.5 + Math.random()))
    }
  }
}
