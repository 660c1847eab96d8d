import { PromptLookup } from './prompt-lookup.ts'

/** Weight of the newest observation in a running mean. */
const NEWEST = 0.2
/** What a further token is taken to add to a run before that was measured, as a part of a run for one. */
const FIRST_GUESS = 0.15
/** A measured time is at most this many times what was expected: other work on the machine tells nothing. */
const OUTLIER = 3
/** How much better than single tokens a draft must promise to be. */
const WORTHWHILE = 1.02
/** Drafts that are held back before one is tried although it does not promise to pay. */
const PATIENCE = 32

/** Milliseconds of runs by their number of tokens: so much for one, and so much for each further one. */
export class RunCosts {
  #single: number | null = null
  #further: number | null = null
  readonly #seen = new Set<number>()

  /** Books one run. The first of each number of tokens is left out, since memory is made for it. */
  observe(tokens: number, milliseconds: number): void {
    const known = this.#seen.has(tokens)
    this.#seen.add(tokens)
    if (!known) return
    if (tokens === 1) {
      this.#single = mean(this.#single, Math.min(milliseconds, OUTLIER * (this.#single ?? milliseconds)))
    } else if (this.#single !== null) {
      const capped = Math.min(milliseconds, OUTLIER * tokens * this.#single)
      this.#further = mean(this.#further, Math.max(0, capped - this.#single) / (tokens - 1))
    }
  }

  /** Time of a run over that of one for a single token; infinite before the latter is known. */
  relative(tokens: number): number {
    if (this.#single === null) return Number.POSITIVE_INFINITY
    return 1 + ((this.#further ?? FIRST_GUESS * this.#single) / this.#single) * (tokens - 1)
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

function mean(before: number | null, value: number): number {
  return before === null ? value : before + NEWEST * (value - before)
}
