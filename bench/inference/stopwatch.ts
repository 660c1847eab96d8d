/** Times of one answer. */
export interface Measured {
  readonly tokens: readonly number[]
  /** Milliseconds from the request to the first token. */
  readonly firstMs: number
  /** Milliseconds per token after the first; NaN for one token. */
  readonly tokenMs: number
  /** The same for the CPU time of this process. */
  readonly tokenCpuMs: number
}

/** Measures the times of an answer while its tokens arrive. */
export class Stopwatch {
  readonly #tokens: number[] = []
  readonly #start = performance.now()
  #first = { at: 0, cpuMs: 0, count: 0 }
  #last = { at: 0, cpuMs: 0 }

  get count(): number {
    return this.#tokens.length
  }

  add(...tokens: readonly number[]): void {
    if (tokens.length === 0) return
    this.#tokens.push(...tokens)
    this.#last = { at: performance.now(), cpuMs: cpuTimeMs() }
    if (this.#first.count === 0) this.#first = { ...this.#last, count: tokens.length }
  }

  read(): Measured {
    const further = this.count - this.#first.count
    return {
      tokens: this.#tokens,
      firstMs: this.#first.at - this.#start,
      tokenMs: (this.#last.at - this.#first.at) / further,
      tokenCpuMs: (this.#last.cpuMs - this.#first.cpuMs) / further
    }
  }
}

function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
