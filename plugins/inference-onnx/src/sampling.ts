import type { SamplingOptions } from '@svc/contracts'
import { argmax, forbidOthers, largest } from './logits.ts'
import type { Random } from './random.ts'
import { sumOfWeights } from './token-weights.ts'

const DEFAULT_TEMPERATURE = 0.7
const DEFAULT_REPEAT_LAST_N = 64
/** Initial number of ranked candidates; increased if top-p needs more. */
const FIRST_RANKED = 64

interface Weighted {
  readonly token: number
  readonly weight: number
}

/** Chooses the next token of one sequence from its logits. */
export class Sampler {
  readonly #options: SamplingOptions
  readonly #random: Random
  readonly #temperature: number
  #weights = new Float64Array()

  constructor(options: SamplingOptions, random: Random) {
    this.#options = options
    this.#random = random
    this.#temperature = options.temperature ?? DEFAULT_TEMPERATURE
  }

  /** True if, without a mask, `sample` always chooses the argmax. */
  get greedy(): boolean {
    return this.#temperature === 0 && (this.#options.logitBias?.size ?? 0) === 0 && !this.#penalises
  }

  /**
   * Chooses a token. Changes `logits` in place.
   *
   * Applies, in this order: bias and penalties, mask, temperature, top-k, typical-p, top-p, min-p. `history`: prompt
   * and completion so far. `allowed`: one bit per token; without it, all tokens are allowed.
   */
  sample(logits: Float32Array, history: readonly number[], allowed?: Uint32Array): number {
    this.#adjust(logits, history)
    if (allowed !== undefined) forbidOthers(logits, allowed)
    if (this.#temperature === 0) return argmax(logits)
    const { topK = 0, topP = 1, minP = 0, typicalP = 1 } = this.#options
    const best = argmax(logits)
    const weigh = (token: number) =>
      Math.exp(((logits[token] as number) - (logits[best] as number)) / this.#temperature)
    if (topK === 0 && topP >= 1 && typicalP >= 1) return this.#drawFromAll(logits, best, minP) ?? best
    const limit = topK === 0 ? logits.length : Math.min(topK, logits.length)
    const ranked =
      typicalP >= 1
        ? this.#truncate(logits, weigh, limit, topP, best)
        : shareOf(topP, this.#typical(logits, limit, typicalP))
    const kept = ranked.filter(({ weight }) => weight >= minP)
    let rest = this.#random() * kept.reduce((sum, { weight }) => sum + weight, 0)
    for (const { token, weight } of kept) {
      rest -= weight
      if (rest < 0) return token
    }
    return best
  }

  get #penalises(): boolean {
    const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0, repeatLastN } = this.#options
    return repeatLastN !== 0 && (repeatPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0)
  }

  #adjust(logits: Float32Array, history: readonly number[]): void {
    const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = this.#options
    const { repeatLastN = DEFAULT_REPEAT_LAST_N, logitBias } = this.#options
    for (const [token, bias] of logitBias ?? []) {
      if (token < logits.length) logits[token] = (logits[token] as number) + bias
    }
    if (!this.#penalises) return
    const counts = new Map<number, number>()
    const start = repeatLastN < 0 ? 0 : Math.max(0, history.length - repeatLastN)
    for (let i = start; i < history.length; i++) {
      const token = history[i] as number
      counts.set(token, (counts.get(token) ?? 0) + 1)
    }
    for (const [token, count] of counts) {
      const logit = logits[token] as number
      const repeated = logit > 0 ? logit / repeatPenalty : logit * repeatPenalty
      logits[token] = repeated - presencePenalty - frequencyPenalty * count
    }
  }

  /** Samples from all tokens with a weight of at least `minP`. Null if rounding errors prevent a choice. */
  #drawFromAll(logits: Float32Array, best: number, minP: number): number | null {
    if (this.#weights.length !== logits.length) this.#weights = new Float64Array(logits.length)
    const weights = this.#weights
    let total = sumOfWeights(logits, best, this.#temperature, weights)
    if (minP > 0) {
      total = 0
      for (let token = 0; token < weights.length; token++) {
        if ((weights[token] as number) < minP) weights[token] = 0
        else total += weights[token] as number
      }
    }
    let rest = this.#random() * total
    for (let token = 0; token < weights.length; token++) {
      rest -= weights[token] as number
      if (rest < 0) return token
    }
    return null
  }

  /** Returns the `limit` most likely tokens, up to the one at which their cumulative probability reaches `topP`. */
  #truncate(
    logits: Float32Array,
    weigh: (token: number) => number,
    limit: number,
    topP: number,
    best: number
  ): Weighted[] {
    const rank = (count: number) => largest(logits, count).map(token => ({ token, weight: weigh(token) }))
    if (topP >= 1) return rank(limit)
    let ranked = rank(Math.min(limit, FIRST_RANKED))
    let total = 0
    if (limit < logits.length) {
      if (ranked.length < limit) ranked = rank(limit)
      total = ranked.reduce((sum, { weight }) => sum + weight, 0)
    } else {
      total = sumOfWeights(logits, best, this.#temperature)
    }
    for (;;) {
      const kept = shareOf(topP, ranked, total)
      if (kept.length < ranked.length || ranked.length >= limit) return kept
      ranked = rank(Math.min(limit, ranked.length * 8))
    }
  }

  /**
   * Selects candidates by locally typical sampling (https://arxiv.org/abs/2202.00666): of the `limit` most likely
   * tokens, those whose surprisal is closest to the entropy, until their cumulative probability reaches `typicalP`.
   * Returns them most likely first.
   */
  #typical(logits: Float32Array, limit: number, typicalP: number): Weighted[] {
    const pool = limit < logits.length ? largest(logits, limit) : null
    const values = pool === null ? logits : Float32Array.from(pool, token => logits[token] as number)
    const weights = new Float64Array(values.length)
    const best = argmax(values)
    const total = sumOfWeights(values, best, this.#temperature, weights)
    // Up to a common factor and offset, the surprisal is the distance to the best logit.
    const surprisal = values.map(value => (values[best] as number) - value)
    let expected = 0
    for (let i = 0; i < surprisal.length; i++) {
      if (weights[i] !== 0) expected += ((weights[i] as number) / total) * (surprisal[i] as number)
    }
    const closeness = surprisal.map(value => -Math.abs(value - expected))
    for (let count = FIRST_RANKED; ; count *= 8) {
      const ranked = largest(closeness, Math.min(count, closeness.length)).map(i => ({
        token: pool?.[i] ?? i,
        weight: weights[i] as number
      }))
      const kept = shareOf(typicalP, ranked, total)
      if (kept.length < ranked.length || count >= closeness.length) return kept.sort((a, b) => b.weight - a.weight)
    }
  }
}

/** Returns the first candidates, up to the one at which their sum reaches the fraction `share` of `total`. */
function shareOf(
  share: number,
  ranked: readonly Weighted[],
  total = ranked.reduce((sum, { weight }) => sum + weight, 0)
): Weighted[] {
  let sum = 0
  const end = ranked.findIndex(({ weight }) => {
    sum += weight
    return sum >= share * total
  })
  return end === -1 ? [...ranked] : ranked.slice(0, end + 1)
}
