/** Queue of work on a device. Queued work must not wait for other queued work. */
export interface RunQueue {
  take<T>(work: () => T | Promise<T>): Promise<T>
  /** Queues work that no caller waits for, such as freeing memory. */
  later(work: () => void): void
}

/** Queue for devices that allow concurrent runs: runs work immediately. */
export const immediateQueue: RunQueue = {
  take: async work => work(),
  later: work => work()
}

/** Tail of the queue of a device; all copies of this code in the process share it. */
export interface QueueTail {
  last: Promise<unknown>
}

/** Queue for devices that do not allow concurrent runs. */
export class SerialQueue implements RunQueue {
  readonly #tail: QueueTail

  constructor(tail: QueueTail) {
    this.#tail = tail
  }

  take<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#tail.last.then(work)
    this.#tail.last = done.catch(() => undefined)
    return done
  }

  later(work: () => void): void {
    void this.take(work)
  }
}
