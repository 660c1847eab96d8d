import type { SamplingOptions } from '@svc/contracts'
import { argmax, largest } from './logits.ts'
import type { Random } from './random.ts'

const DEFAULT_TEMPERATURE = 0.7
const DEFAULT_REPEAT_LAST_N = 64
/** Candidates that are ranked at first; the number grows while top-p asks for more. */
const FIRST_RANKED = 64

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

  /**
   * Changes `logits` in place by penalties and bias, then chooses.
   *
   * Order: bias and penalties, temperature, top-k, top-p, min-p. `history` is prompt and completion so far.
   */
  sample(logits: Float32Array, history: readonly number[]): number {
    this.#adjust(logits, history)
    if (this.#temperature === 0) return argmax(logits)
    const { topK = 0, topP = 1, minP = 0 } = this.#options
    const best = argmax(logits)
    const weigh = (token: number) =>
      Math.exp(((logits[token] as number) - (logits[best] as number)) / this.#temperature)
    if (topK === 0 && topP >= 1 && minP <= 0) return this.#drawFromAll(logits.length, weigh)
    const ranked = this.#truncate(logits, weigh, topK === 0 ? logits.length : Math.min(topK, logits.length), topP)
    const kept = ranked.filter(({ weight }) => weight >= minP)
    let rest = this.#random() * kept.reduce((sum, { weight }) => sum + weight, 0)
    for (const { token, weight } of kept) {
      rest -= weight
      if (rest < 0) return token
    }
    return best
  }

  #adjust(logits: Float32Array, history: readonly number[]): void {
    const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = this.#options
    const { repeatLastN = DEFAULT_REPEAT_LAST_N, logitBias } = this.#options
    for (const [token, bias] of logitBias ?? []) {
      if (token < logits.length) logits[token] = (logits[token] as number) + bias
    }
    if (repeatLastN === 0 || (repeatPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0)) return
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

  #drawFromAll(count: number, weigh: (token: number) => number): number {
    if (this.#weights.length !== count) this.#weights = new Float64Array(count)
    const weights = this.#weights
    let total = 0
    for (let token = 0; token < count; token++) {
      const weight = weigh(token)
      weights[token] = weight
      total += weight
    }
    let rest = this.#random() * total
    for (let token = 0; token < count; token++) {
      rest -= weights[token] as number
      if (rest < 0) return token
    }
    return count - 1
  }

  /** The `limit` most likely tokens, cut after the one with which their share of the whole reaches `topP`. */
  #truncate(
    logits: Float32Array,
    weigh: (token: number) => number,
    limit: number,
    topP: number
  ): { token: number; weight: number }[] {
    const rank = (count: number) => largest(logits, count).map(token => ({ token, weight: weigh(token) }))
    if (topP >= 1) return rank(limit)
    let ranked = rank(Math.min(limit, FIRST_RANKED))
    let total = 0
    if (limit < logits.length) {
      if (ranked.length < limit) ranked = rank(limit)
      total = ranked.reduce((sum, { weight }) => sum + weight, 0)
    } else {
      for (let token = 0; token < logits.length; token++) total += weigh(token)
    }
    for (;;) {
      let share = 0
      const end = ranked.findIndex(({ weight }) => {
        share += weight
        return share >= topP * total
      })
      if (end !== -1) return ranked.slice(0, end + 1)
      if (ranked.length >= limit) return ranked
      ranked = rank(Math.min(limit, ranked.length * 8))
    }
  }
}
