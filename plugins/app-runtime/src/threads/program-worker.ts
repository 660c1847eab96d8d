import { Worker, type WorkerOptions } from 'node:worker_threads'
import { NativeGuard } from '@svc/contracts'

/** Data of a thread in addition to its own. */
export interface GuardedData {
  readonly nativeGuard: SharedArrayBuffer
}

/** Milliseconds that one call of a database may go on in a thread that is ended. */
const LEAVE_MS = 10_000

/** Milliseconds between two looks at a thread that was left behind. */
const LOOK_MS = 1_000

/**
 * A thread that uses databases, and can be ended at any point. It emits `left` when it is left behind; see
 * {@link ProgramWorker.end}.
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
   * Ends it safely: its work is over at once, except for one call of a database. When that takes longer
   * than `milliseconds`, it is left behind: it is ended when that call is over, and keeps nothing waiting.
   */
  async end(milliseconds = LEAVE_MS): Promise<void> {
    if (await this.#guard.stop(() => this.#isOver, milliseconds)) await this.terminate()
    else this.#leave()
  }

  // A thread that is over has no number any more.
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
