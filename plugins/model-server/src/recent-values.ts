export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

const MAX_VALUES = 512

/** The last 512 values of a measurement, for percentiles. */
export class RecentValues {
  readonly #values = new Float64Array(MAX_VALUES)
  #count = 0

  add(value: number): void {
    this.#values[this.#count % MAX_VALUES] = value
    this.#count += 1
  }

  /** Returns undefined if there are no values. */
  percentiles(): Percentiles | undefined {
    if (this.#count === 0) return undefined
    const sorted = this.#values.slice(0, Math.min(this.#count, MAX_VALUES)).sort()
    const at = (fraction: number): number => sorted[Math.ceil(fraction * sorted.length) - 1] as number
    return { p50: at(0.5), p95: at(0.95) }
  }
}
