import { Worker, type WorkerOptions } from 'node:worker_threads'
import { NativeGuard } from '@svc/contracts'

/** Additional data of a thread. */
export interface GuardedData {
  readonly nativeGuard: SharedArrayBuffer
}

/** Time limit for a database call in a thread that is being ended, in milliseconds. */
const LEAVE_MS = 10_000

/** Interval for checking an abandoned thread, in milliseconds. */
const LOOK_MS = 1_000

/**
 * A thread that uses databases, and can be ended at any point. It emits `left` when it is abandoned; see {@link
 * ProgramWorker.end}.
 */
export class ProgramWorker extends Worker {
  readonly #guard: NativeGuard
  #isLeft = false

  /** `data`: an object. */
  constructor(script: string | URL, { workerData = {}, ...options }: WorkerOptions = {}) {
    const guard = new NativeGuard()
    super(script, { ...options, workerData: { ...workerData, nativeGuard: guard.shared } satisfies GuardedData })
    this.#guard = guard
  }

  /**
   * Ends it safely: its work stops immediately, except for one database call. After `milliseconds` it is abandoned:
   * it ends when that call returns, and keeps nothing waiting.
   */
  async end(milliseconds = LEAVE_MS): Promise<void> {
    if (await this.#guard.stop(() => this.#isOver, milliseconds)) await this.terminate()
    else this.#leave()
  }

  // An ended thread has no id.
  get #isOver(): boolean {
    return this.threadId === -1
  }

  #leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.once('exit', this.#guard.abandon())
    const timer = setInterval(() => {
      if (this.#guard.isInside && !this.#isOver) return
      clearInterval(timer)
      void this.terminate()
    }, LOOK_MS).unref()
    this.unref()
    this.emit('left')
  }
}
