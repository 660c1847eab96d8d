/**
 * Lets one asynchronous task through at a time, in the order in which they came.
 *
 * Sequences queue here for every single token, so several of them take turns.
 */
export class Turnstile {
  #last: Promise<unknown> = Promise.resolve()

  run<A>(task: () => Promise<A>): Promise<A> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Settles when everything that queued until now has passed. */
  async idle(): Promise<void> {
    await this.#last
  }
}
