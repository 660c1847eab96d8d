import { Worker, type WorkerOptions } from 'node:worker_threads'
import { NativeGuard } from '@svc/contracts'

/** What a thread is given beside its own data. */
export interface GuardedData {
  readonly nativeGuard: SharedArrayBuffer
}

/** A thread that uses databases, and can be ended at any point. */
export class ProgramWorker extends Worker {
  readonly #guard: NativeGuard

  /** `data`: an object. */
  constructor(script: string | URL, { workerData = {}, ...options }: WorkerOptions = {}) {
    const guard = new NativeGuard()
    super(script, { ...options, workerData: { ...workerData, nativeGuard: guard.shared } satisfies GuardedData })
    this.#guard = guard
  }

  /** Ends it where that harms nobody: what it does is over at once, save for one call of a database. */
  async end(): Promise<void> {
    // A thread that is over has no number any more.
    await this.#guard.stop(() => this.threadId === -1)
    await this.terminate()
  }
}
