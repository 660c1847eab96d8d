import { EngineFailure } from '../worker/engine.ts'

/** Waiting for a lock: milliseconds, doubled up to the second number. */
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 40

const idle = new Int32Array(new SharedArrayBuffer(4))

/**
 * Tries again, for as long as `limit` milliseconds, what failed because somebody else held the lock. The thread sleeps in
 * between; the binding's own waiting would leave statements half done.
 */
export function patiently<A>(limit: number, run: () => A): A {
  let until = -1
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return run()
    } catch (error) {
      if (until < 0) until = performance.now() + limit
      if (!isBusy(error) || performance.now() + wait > until) throw error
      // Several who wait in step would meet again.
      Atomics.wait(idle, 0, 0, wait * (0.5 + Math.random()))
    }
  }
}

/** Whether somebody else held the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof EngineFailure && /^SQLITE_(?:BUSY|LOCKED)/.test(error.code)
}
