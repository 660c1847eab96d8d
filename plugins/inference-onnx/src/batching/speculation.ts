import { PromptLookup } from './prompt-lookup.ts'

/** Weight of the newest observation in a running mean. */
const NEWEST = 0.2
/** Assumed cost of a further token before a measurement, as a fraction of a run for one. */
const FIRST_GUESS = 0.15
/** Weight of a longer time in an estimate: other load can only slow runs down, so short times count more. */
const RISE = 0.02
/** Minimum expected speed-up of a draft over single tokens. */
const WORTHWHILE = 1.02
/** Skipped drafts before an unpromising one is tried again. */
const PATIENCE = 32

/** Measured time of runs by number of tokens. */
export class RunCosts {
  /** Approximate minimum time in milliseconds, by number of tokens. */
  readonly #times = new Map<number, number>()
  readonly #begun = new Set<number>()
  #most = 1

  /** Records one run. Ignores the first run of each size, which allocates memory. */
  observe(tokens: number, milliseconds: number): void {
    if (!this.#begun.has(tokens)) {
      this.#begun.add(tokens)
      return
    }
    const before = this.#times.get(tokens) ?? milliseconds
    this.#times.set(tokens, milliseconds < before ? milliseconds : before + RISE * (milliseconds - before))
    if (tokens > this.#most) this.#most = tokens
  }

  /** Time of a run relative to a run for one token; infinite before the latter is known. */
  relative(tokens: number): number {
    const single = this.#times.get(1)
    if (single === undefined) return Number.POSITIVE_INFINITY
    const known = this.#times.get(tokens)
    if (known !== undefined) return known / single
    const most = this.#times.get(this.#most) as number
    const further = this.#most === 1 ? FIRST_GUESS : (most / single - 1) / (this.#most - 1)
    return 1 + Math.max(0, further) * (tokens - 1)
  }
}

/**
 * Drafts as many tokens of one sequence as should pay off, from the recent acceptance rate and the measured cost per
 * token. Unpredictable text is hardly slowed down.
 */
export class Speculation {
  readonly #lookup: PromptLookup
  readonly #costs: RunCosts
  readonly #max: number
  /** Acceptance rate of drafted tokens, weighted to recent ones. */
  #accepted = 0.5
  #heldBack = 0

  constructor(tokens: readonly number[], costs: RunCosts, max: number) {
    this.#lookup = new PromptLookup(tokens)
    this.#costs = costs
    this.#max = max
  }

  /** At most `room` tokens. */
  draft(room: number): number[] {
    const length = this.#length(Math.min(this.#max, room))
    return length === 0 ? [] : this.#lookup.draft(length)
  }

  /** Records how many drafted tokens were accepted. A rejected token hides those after it. */
  settle(drafted: number, accepted: number): void {
    for (let i = 0; i < accepted; i++) this.#accepted = mean(this.#accepted, 1)
    if (accepted < drafted) this.#accepted = mean(this.#accepted, 0)
  }

  /** Draft length with the best expected throughput: 1 + a + a^2 + ... tokens per cost of a run. */
  #length(max: number): number {
    let best = { length: 0, gain: WORTHWHILE }
    let expected = 1
    for (let length = 1; length <= max; length++) {
      expected += this.#accepted ** length
      const gain = expected / this.#costs.relative(length + 1)
      if (gain > best.gain) best = { length, gain }
    }
    if (best.length > 0 || max === 0) return best.length
    this.#heldBack = (this.#heldBack + 1) % PATIENCE
    return this.#heldBack === 0 ? 1 : 0
  }
}

function mean(before: number, value: number): number {
  return before + NEWEST * (value - before)
}
