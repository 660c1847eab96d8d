import { Worker, type WorkerOptions } from 'node:worker_threads'
import { NativeGuard } from '@svc/contracts'

/** Data that every {@link ProgramWorker} passes to its thread. */
export interface GuardedData {
  readonly nativeGuard: SharedArrayBuffer
}

/** Milliseconds that `end` waits for a database call before it abandons the thread. */
const ABANDON_AFTER_MS = 10_000

/** Interval between checks of an abandoned thread, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000

/**
 * A thread that uses databases and can be ended at any point. Emits `left` when it is abandoned; see
 * {@link ProgramWorker.end}.
 */
export class ProgramWorker extends Worker {
  readonly #guard: NativeGuard
  #isAbandoned = false

  /** `workerData` must be an object. */
  constructor(script: string | URL, { workerData = {}, ...options }: WorkerOptions = {}) {
    const guard = new NativeGuard()
    super(script, { ...options, workerData: { ...workerData, nativeGuard: guard.shared } satisfies GuardedData })
    this.#guard = guard
  }

  /**
   * Ends the thread. Its work stops immediately, except for a running database call. If the call takes longer than
   * `milliseconds`, the thread is abandoned: it ends when the call returns, and this method no longer waits for it.
   */
  async end(milliseconds = ABANDON_AFTER_MS): Promise<void> {
    if (await this.#guard.stop(() => this.#isOver, milliseconds)) await this.terminate()
    else this.#abandon()
  }

  // An ended thread has no id.
  get #isOver(): boolean {
    return this.threadId === -1
  }

  #abandon(): void {
    if (this.#isAbandoned) return
    this.#isAbandoned = true
    this.once('exit', this.#guard.abandon())
    const timer = setInterval(() => {
      if (this.#guard.isInside && !this.#isOver) return
      clearInterval(timer)
      void this.terminate()
    }, CHECK_INTERVAL_MS).unref()
    this.unref()
    this.emit('left')
  }
}
