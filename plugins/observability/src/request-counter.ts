/** Upper bounds of the duration classes in milliseconds: each is a quarter above the one before, up to 10 minutes. */
const BOUNDS: readonly number[] = bounds()

function bounds(): number[] {
  const found: number[] = []
  for (let bound = 0.05; bound < 600_000; bound *= 1.25) found.push(bound)
  return found
}

const LOWEST = BOUNDS[0] as number
const STEP = Math.log(1.25)

/** Rates and durations of the requests of one period. */
export interface RequestRates {
  readonly count: number
  readonly errors: number
  /** Milliseconds; null without requests. Overstated by at most a quarter. */
  readonly p50: number | null
  readonly p95: number | null
}

/** Counts requests and their durations for one period after another. */
export class RequestCounter {
  #count = 0
  #errors = 0
  readonly #classes = new Uint32Array(BOUNDS.length + 1)

  /** `isError`: the server failed, with a status from 500. */
  add(ms: number, isError: boolean): void {
    this.#count += 1
    if (isError) this.#errors += 1
    const at = ms <= LOWEST ? 0 : Math.min(Math.ceil(Math.log(ms / LOWEST) / STEP), BOUNDS.length)
    this.#classes[at] = (this.#classes[at] as number) + 1
  }

  /** Returns the counts, and begins the next period. */
  take(): RequestRates {
    const rates = { count: this.#count, errors: this.#errors, p50: this.#quantile(0.5), p95: this.#quantile(0.95) }
    this.#count = 0
    this.#errors = 0
    this.#classes.fill(0)
    return rates
  }

  #quantile(part: number): number | null {
    let remaining = Math.ceil(this.#count * part)
    if (remaining === 0) return null
    for (const [at, count] of this.#classes.entries()) {
      remaining -= count
      if (remaining <= 0) return BOUNDS[Math.min(at, BOUNDS.length - 1)] as number
    }
    return null
  }
}
