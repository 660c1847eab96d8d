import { PromptLookup } from './prompt-lookup.ts'

/** Weight of the newest observation in a running mean. */
const NEWEST = 0.2
/** Assumed cost of a further token before a measurement, as a fraction of a run for one. */
const FIRST_GUESS = 0.15
/** How far an estimate rises towards a longer time: other work on the machine can only add, so short ones count. */
const RISE = 0.02
/** How much better than single tokens a draft must promise to be. */
const WORTHWHILE = 1.02
/** Drafts that are held back before one is tried although it does not promise to pay. */
const PATIENCE = 32

/** Measured cost of runs by their number of tokens. */
export class RunCosts {
  /** About the least milliseconds that were seen, by tokens. */
  readonly #times = new Map<number, number>()
  readonly #begun = new Set<number>()
  #most = 1

  /** Books one run. The first of each number of tokens is left out, since memory is made for it. */
  observe(tokens: number, milliseconds: number): void {
    if (!this.#begun.has(tokens)) {
      this.#begun.add(tokens)
      return
    }
    const before = this.#times.get(tokens) ?? milliseconds
    this.#times.set(tokens, milliseconds < before ? milliseconds : before + RISE * (milliseconds - before))
    if (tokens > this.#most) this.#most = tokens
  }

  /** Time of a run over that of one for a single token; infinite before the latter is known. */
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
 * Drafts tokens of one sequence, as many as promise to pay: by how many of the last ones were right, and by what further
 * tokens in a run have been seen to cost. Text that cannot be guessed is hardly slowed down by trying.
 */
export class Speculation {
  readonly #lookup: PromptLookup
  readonly #costs: RunCosts
  readonly #max: number
  /** Part of the drafted tokens that were right, the latest counting most. */
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

  /** Told how many of the drafted tokens were right. A wrong one hides those behind it. */
  settle(drafted: number, accepted: number): void {
    for (let i = 0; i < accepted; i++) this.#accepted = mean(this.#accepted, 1)
    if (accepted < drafted) this.#accepted = mean(this.#accepted, 0)
  }

  /** The number of drafted tokens with the most tokens per time: 1 + a + a^2 + ... tokens for the cost of a run. */
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
