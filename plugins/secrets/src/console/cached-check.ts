/** Result of a check that is expensive, or that leaves traces in an audit log. It is kept for some time. */
export class CachedCheck<A> {
  readonly #check: () => Promise<A>
  readonly #maxAgeMs: number
  readonly #now: () => number
  #checked: { readonly at: number; readonly result: A } | null = null
  #running: Promise<A> | null = null
  /** Counts calls of `forget`. */
  #version = 0

  /** `now`: milliseconds of a clock that does not go back. */
  constructor(check: () => Promise<A>, maxAgeMs: number, now: () => number = () => performance.now()) {
    this.#check = check
    this.#maxAgeMs = maxAgeMs
    this.#now = now
  }

  /** Returns a result of at most that age. Concurrent calls share one check. */
  async get(): Promise<A> {
    if (this.#checked !== null && this.#now() - this.#checked.at < this.#maxAgeMs) return this.#checked.result
    this.#running ??= this.#run()
    return this.#running
  }

  /** Makes the next call check again. A check that runs may have read the earlier state: its result is not kept. */
  forget(): void {
    this.#version += 1
    this.#checked = null
    this.#running = null
  }

  async #run(): Promise<A> {
    const version = this.#version
    const at = this.#now()
    try {
      const result = await this.#check()
      if (version === this.#version) this.#checked = { at, result }
      return result
    } finally {
      if (version === this.#version) this.#running = null
    }
  }
}
