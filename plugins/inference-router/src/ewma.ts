/** Weight of a new sample. */
const ALPHA = 0.2

/** Exponentially weighted moving average. */
export class Ewma {
  #value: number | undefined

  /** Undefined before the first sample. */
  get value(): number | undefined {
    return this.#value
  }

  add(sample: number): void {
    this.#value = this.#value === undefined ? sample : this.#value + ALPHA * (sample - this.#value)
  }
}
