/** Queue of runs on a device. A run must not wait for another one. */
export interface RunQueue {
  take<T>(work: () => T | Promise<T>): Promise<T>
  /** For work without a waiting caller, such as freeing memory. */
  later(work: () => void): void
}

/** For devices that allow concurrent runs. */
export const immediateQueue: RunQueue = {
  take: async work => work(),
  later: work => work()
}

/** Waiting runs of a device, shared by all copies of this code. */
export interface Line {
  last: Promise<unknown>
}

/** For devices that fail with concurrent sessions. */
export class SerialQueue implements RunQueue {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  take<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#line.last.then(work)
    this.#line.last = done.catch(() => undefined)
    return done
  }

  later(work: () => void): void {
    void this.take(work)
  }
}
