/** Runs asynchronous work one after the other, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` after all earlier work, also if that failed. Returns the result of `work`, or throws its error. */
  run<A>(work: () => Promise<A>): Promise<A> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Resolves when the work that was requested until now has ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
