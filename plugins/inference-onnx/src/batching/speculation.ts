import { PromptLookup } from './prompt-lookup.ts'

/** Weight of the newest observation in the moving average. */
const NEWEST = 0.2
/** Assumed cost of an additional token before it was measured, as a fraction of a run for one token. */
const FIRST_GUESS = 0.15
/** Weight of a time above the estimate: other load can only slow runs down, so short times count more. */
const RISE = 0.02
/** Minimum expected speed-up of a draft over decoding one token at a time. */
const WORTHWHILE = 1.02
/** Number of skipped drafts after which one is tried again. */
const PATIENCE = 32

/** Measured times of runs, by number of tokens. */
export class RunCosts {
  /** Approximate minimum time in milliseconds, by number of tokens. */
  readonly #times = new Map<number, number>()
  readonly #begun = new Set<number>()
  #maxTokens = 1

  /** Records one run. Ignores the first run of each size, which allocates memory. */
  observe(tokens: number, milliseconds: number): void {
    if (!this.#begun.has(tokens)) {
      this.#begun.add(tokens)
      return
    }
    const before = this.#times.get(tokens) ?? milliseconds
    this.#times.set(tokens, milliseconds < before ? milliseconds : before + RISE * (milliseconds - before))
    if (tokens > this.#maxTokens) this.#maxTokens = tokens
  }

  /** Returns the time of a run relative to a run for one token; infinite until the latter was measured. */
  relative(tokens: number): number {
    const single = this.#times.get(1)
    if (single === undefined) return Number.POSITIVE_INFINITY
    const known = this.#times.get(tokens)
    if (known !== undefined) return known / single
    const longest = this.#times.get(this.#maxTokens) as number
    const further = this.#maxTokens === 1 ? FIRST_GUESS : (longest / single - 1) / (this.#maxTokens - 1)
    return 1 + Math.max(0, further) * (tokens - 1)
  }
}

/**
 * Drafts tokens of one sequence. The recent acceptance rate and the measured cost per token decide how many, so that
 * unpredictable text is hardly slowed down.
 */
export class Speculation {
  readonly #lookup: PromptLookup
  readonly #costs: RunCosts
  readonly #max: number
  /** Moving average of the acceptance rate of drafted tokens. */
  #accepted = 0.5
  #skipped = 0

  constructor(tokens: readonly number[], costs: RunCosts, max: number) {
    this.#lookup = new PromptLookup(tokens)
    this.#costs = costs
    this.#max = max
  }

  /** Returns a draft of at most `room` tokens. */
  draft(room: number): number[] {
    const length = this.#length(Math.min(this.#max, room))
    return length === 0 ? [] : this.#lookup.draft(length)
  }

  /** Records how many drafted tokens were accepted. Tokens after the first rejected one count as untested. */
  settle(drafted: number, accepted: number): void {
    for (let i = 0; i < accepted; i++) this.#accepted = mean(this.#accepted, 1)
    if (accepted < drafted) this.#accepted = mean(this.#accepted, 0)
  }

  /**
   * Returns the draft length with the best expected throughput: 1 + a + a^2 + ... tokens, divided by the run's cost.
   */
  #length(max: number): number {
    let best = { length: 0, gain: WORTHWHILE }
    let expected = 1
    for (let length = 1; length <= max; length++) {
      expected += this.#accepted ** length
      const gain = expected / this.#costs.relative(length + 1)
      if (gain > best.gain) best = { length, gain }
    }
    if (best.length > 0 || max === 0) return best.length
    this.#skipped = (this.#skipped + 1) % PATIENCE
    return this.#skipped === 0 ? 1 : 0
  }
}

function mean(before: number, value: number): number {
  return before + NEWEST * (value - before)
}
