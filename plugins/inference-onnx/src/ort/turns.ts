/** When work is done on a device. Work must not take another turn within its own. */
export interface Turns {
  take<T>(work: () => T | Promise<T>): Promise<T>
  /** For work without a waiting caller, such as freeing memory. */
  later(work: () => void): void
}

/** For devices that anybody may use at any time. */
export const atOnce: Turns = {
  take: async work => work(),
  later: work => work()
}

/** Those who wait for a device, whichever copy of this code they came by. */
export interface Line {
  last: Promise<unknown>
}

/** For devices that fall over when two sessions use them at the same time. */
export class OneByOne implements Turns {
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
