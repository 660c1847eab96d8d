import type { SamplingOptions } from '@svc/contracts'
import type { Candidates } from './candidates.ts'
import { argmax, forbidOthers } from './logits.ts'
import type { Random } from './random.ts'
import { drawSelected, type Selection, selectTokens } from './selection.ts'
import { sumOfWeights } from './token-weights.ts'

const DEFAULT_TEMPERATURE = 0.7
const DEFAULT_REPEAT_LAST_N = 64
/** Range of weights and of their sum that probabilities in float32 represent precisely. */
const SMALLEST_TOTAL = 1e-20
/** Smallest sum that is computed by subtraction: probabilities in float32 and their sum have errors of up to 1e-6. */
const SMALLEST_REST = 1e-3
const LARGEST_WEIGHT = 1e6
/** Largest finite logit: the difference of infinite ones is not a number. */
const LARGEST_LOGIT = 3.4028234663852886e38

/** Inputs of a choice in addition to the logits. */
export interface SampleContext {
  /** Prompt and completion so far. */
  readonly history: readonly number[]
  /** One bit per token; without it, all tokens are allowed. */
  readonly allowed?: Uint32Array | undefined
  /** Candidates of the same logits; null: the sampler computes what it needs. */
  readonly candidates?: Candidates | null
}

/** Weights from which a token is drawn. */
interface Distribution {
  /** After bias and penalties. */
  readonly logits: Float32Array
  /** `exp(logit / temperature)` of each token, up to a common factor; 0 for forbidden tokens. */
  readonly weights: Float32Array
  readonly total: number
  /** Largest weight. */
  readonly largest: number
  /** The first tokens by weight, largest first; empty if unknown. */
  readonly ranked: readonly number[]
}

/** Chooses the next token of one sequence from its logits. */
export class Sampler {
  readonly #options: SamplingOptions
  readonly #random: Random
  /** 0: the largest logit. */
  readonly temperature: number
  #scratch = new Float32Array()
  /** Of each token, the distance of its surprisal from the entropy. */
  #distances = new Float32Array()

  constructor(options: SamplingOptions, random: Random) {
    this.#options = options
    this.#random = random
    this.temperature = options.temperature ?? DEFAULT_TEMPERATURE
  }

  /** True if, without a mask, `sample` always chooses the argmax. */
  get greedy(): boolean {
    return this.temperature === 0 && (this.#options.logitBias?.size ?? 0) === 0 && !this.#penalises
  }

  /**
   * Chooses a token. Changes `logits` and the candidates in place.
   *
   * Applies, in this order: bias and penalties, mask, temperature, top-k, typical-p, top-p, min-p. Most choices need
   * only the candidates; the others take time proportional to the vocabulary.
   */
  sample(logits: Float32Array, { history, allowed, candidates = null }: SampleContext): number {
    const best = candidates?.tokens[0] ?? 0
    const bestLogit = logits[best] as number
    const changed = this.#adjust(logits, history)
    if (this.temperature === 0) return chooseLargest(logits, changed, allowed, candidates)
    const prepared = candidates === null ? null : this.#reweigh(logits, bestLogit, changed, candidates, allowed)
    return this.#draw(prepared ?? this.#weigh(logits, allowed))
  }

  get #penalises(): boolean {
    const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0, repeatLastN } = this.#options
    return repeatLastN !== 0 && (repeatPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0)
  }

  /** Applies bias and penalties. Returns the tokens whose logits have changed. */
  #adjust(logits: Float32Array, history: readonly number[]): Set<number> {
    const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = this.#options
    const { repeatLastN = DEFAULT_REPEAT_LAST_N, logitBias } = this.#options
    const changed = new Set<number>()
    for (const [token, bias] of logitBias ?? []) {
      if (token >= logits.length) continue
      logits[token] = Math.min((logits[token] as number) + bias, LARGEST_LOGIT)
      changed.add(token)
    }
    if (!this.#penalises) return changed
    const counts = new Map<number, number>()
    const start = repeatLastN < 0 ? 0 : Math.max(0, history.length - repeatLastN)
    for (let i = start; i < history.length; i++) {
      const token = history[i] as number
      counts.set(token, (counts.get(token) ?? 0) + 1)
    }
    for (const [token, count] of counts) {
      const logit = logits[token] as number
      const repeated = logit > 0 ? logit / repeatPenalty : logit * repeatPenalty
      logits[token] = Math.min(repeated - presencePenalty - frequencyPenalty * count, LARGEST_LOGIT)
      changed.add(token)
    }
    return changed
  }

  /**
   * Returns the candidates' distribution with the changed logits and without forbidden tokens; null if its numbers are
   * too small or too large to be precise.
   */
  #reweigh(
    logits: Float32Array,
    bestLogit: number,
    changed: ReadonlySet<number>,
    { tokens, probabilities: weights }: Candidates,
    allowed: Uint32Array | undefined
  ): Distribution | null {
    const best = weights[tokens[0] as number] as number
    const lastWeight = weights[tokens[tokens.length - 1] as number] as number
    let total = 1
    for (const token of changed) {
      const weight = best * Math.exp(((logits[token] as number) - bestLogit) / this.temperature)
      if (!(weight <= LARGEST_WEIGHT)) return null
      total += weight - (weights[token] as number)
      weights[token] = weight
    }
    if (allowed !== undefined) total = forbidWeights(weights, allowed)
    if (!(total >= (allowed === undefined ? SMALLEST_REST : SMALLEST_TOTAL))) return null
    const ranked = tokens.filter(token => !changed.has(token) && (weights[token] as number) > 0)
    const risen = [...changed].filter(token => (weights[token] as number) > lastWeight)
    const byWeight = (a: number, b: number) => (weights[b] as number) - (weights[a] as number) || a - b
    const merged = risen.length === 0 ? ranked : [...ranked, ...risen].sort(byWeight)
    // Without a ranked token, the largest weight is unknown.
    if (merged.length === 0) return null
    return { logits, weights, total, largest: weights[merged[0] as number] as number, ranked: merged }
  }

  #weigh(logits: Float32Array, allowed: Uint32Array | undefined): Distribution {
    if (allowed !== undefined) forbidOthers(logits, allowed)
    if (this.#scratch.length !== logits.length) this.#scratch = new Float32Array(logits.length)
    const weights = this.#scratch
    const total = sumOfWeights(logits, argmax(logits), this.temperature, weights)
    return { logits, weights, total, largest: 1, ranked: [] }
  }

  #draw(distribution: Distribution): number {
    const { topK = 0, topP = 1, minP = 0, typicalP = 1 } = this.#options
    const { weights, total } = distribution
    const only = this.#onlyLimit(distribution)
    if (only !== null) return drawSelected(only, weights, this.#random()) ?? likeliest(distribution)
    const limited = topK > 0 && topK < weights.length
    let pool = limited ? mostLikely(distribution, topK) : null
    if (typicalP < 1) pool = typicalTokens(distribution, pool, typicalP)
    if (topP < 1) {
      const mass = topP * (pool === null ? total : sum(weights, pool))
      pool = pool === null ? nucleus(distribution, mass) : share(weights, pool, mass)
    }
    if (minP > 0) pool = atLeast(distribution, pool, minP * distribution.largest)
    return (pool === null ? this.#drawAny(distribution) : this.#drawFrom(weights, pool)) ?? likeliest(distribution)
  }

  /** Returns the limit if there is exactly one, and the ranked tokens do not decide where it ends; else null. */
  #onlyLimit({ logits, weights, total, ranked }: Distribution): (Selection & { readonly pool: null }) | null {
    const { topK = 0, topP = 1, minP = 0, typicalP = 1 } = this.#options
    const limited = topK > 0 && topK < weights.length
    if (minP > 0 || Number(limited) + Number(topP < 1) + Number(typicalP < 1) !== 1) return null
    if (limited)
      return topK <= ranked.length ? null : { keys: weights, order: 'largest', weights: null, limit: topK, pool: null }
    if (topP < 1)
      return sum(weights, ranked) >= topP * total
        ? null
        : { keys: weights, order: 'largest', weights, limit: topP * total, pool: null }
    if (this.#distances.length !== weights.length) this.#distances = new Float32Array(weights.length)
    const limit = typicalP * writeDistances(logits, weights, null, this.#distances)
    return { keys: this.#distances, order: 'smallest', weights, limit, pool: null }
  }

  /** Null if the pool is empty, or if rounding errors prevent a choice. */
  #drawFrom(weights: Float32Array, pool: ArrayLike<number>): number | null {
    let rest = this.#random() * sum(weights, pool)
    for (let i = 0; i < pool.length; i++) {
      const token = pool[i] as number
      rest -= weights[token] as number
      if (rest < 0) return token
    }
    return null
  }

  /** Draws from all tokens: first the ranked ones, which nearly always suffice, then the others by their ids. */
  #drawAny({ weights, total, ranked }: Distribution): number | null {
    let rest = this.#random() * total
    for (const token of ranked) {
      rest -= weights[token] as number
      if (rest < 0) return token
    }
    for (const token of ranked) weights[token] = 0
    for (let token = 0; token < weights.length; token++) {
      rest -= weights[token] as number
      if (rest < 0) return token
    }
    return null
  }
}

/** Returns the allowed token with the largest logit; in a tie, the smaller id. */
function chooseLargest(
  logits: Float32Array,
  changed: ReadonlySet<number>,
  allowed: Uint32Array | undefined,
  candidates: Candidates | null
): number {
  const isAllowed = (token: number) => allowed === undefined || bitOf(allowed, token)
  const unchanged = candidates?.tokens.find(token => !changed.has(token) && isAllowed(token))
  if (unchanged === undefined) {
    if (allowed !== undefined) forbidOthers(logits, allowed)
    return argmax(logits)
  }
  const better = (a: number, b: number) =>
    (logits[a] as number) > (logits[b] as number) || (logits[a] === logits[b] && a < b)
  let best = unchanged
  for (const token of changed) if (isAllowed(token) && better(token, best)) best = token
  return best
}

function bitOf(allowed: Uint32Array, token: number): boolean {
  return (((allowed[token >> 5] ?? 0) >>> (token & 31)) & 1) === 1
}

/** Sets the weights of forbidden tokens to 0. Returns the sum of the others. */
function forbidWeights(weights: Float32Array, allowed: Uint32Array): number {
  let total = 0
  for (let first = 0; first < weights.length; first += 32) {
    const word = allowed[first >> 5] ?? 0
    const end = Math.min(first + 32, weights.length)
    if (word === 0) {
      weights.fill(0, first, end)
      continue
    }
    for (let token = first; token < end; token++) {
      if (((word >>> (token & 31)) & 1) === 0) weights[token] = 0
      else total += weights[token] as number
    }
  }
  return total
}

/** Returns the `count` tokens with the largest weights. */
function mostLikely({ weights, ranked }: Distribution, count: number): ArrayLike<number> {
  if (count <= ranked.length) return ranked.slice(0, count)
  return selectTokens({ keys: weights, order: 'largest', weights: null, limit: count, pool: null })
}

/** Returns the tokens with the largest weights, up to the one that reaches `mass`. */
function nucleus({ weights, ranked }: Distribution, mass: number): ArrayLike<number> {
  let reached = 0
  for (const [i, token] of ranked.entries()) {
    reached += weights[token] as number
    if (reached >= mass) return ranked.slice(0, i + 1)
  }
  return selectTokens({ keys: weights, order: 'largest', weights, limit: mass, pool: null })
}

/** Returns the tokens of the pool with the largest weights, up to the one that reaches `mass`. */
function share(weights: Float32Array, pool: ArrayLike<number>, mass: number): Int32Array {
  return selectTokens({ keys: weights, order: 'largest', weights, limit: mass, pool: Int32Array.from(pool).sort() })
}

/** Returns the tokens of the pool with at least this weight. */
function atLeast(
  { weights, ranked }: Distribution,
  pool: ArrayLike<number> | null,
  smallest: number
): ArrayLike<number> {
  const isKept = (token: number) => (weights[token] as number) >= smallest
  if (pool !== null) return Array.from(pool).filter(isKept)
  const end = ranked.findIndex(token => !isKept(token))
  if (end !== -1) return ranked.slice(0, end)
  const kept: number[] = []
  for (let token = 0; token < weights.length; token++) if (isKept(token)) kept.push(token)
  return kept
}

/**
 * Returns the tokens that locally typical sampling keeps (https://arxiv.org/abs/2202.00666): those whose surprisal is
 * closest to the entropy, until their share of the pool reaches `typicalP`.
 */
function typicalTokens(
  { logits, weights }: Distribution,
  pool: ArrayLike<number> | null,
  typicalP: number
): Int32Array {
  const tokens = pool === null ? null : Int32Array.from(pool).sort()
  const distances = new Float32Array(weights.length)
  const limit = typicalP * writeDistances(logits, weights, tokens, distances)
  return selectTokens({ keys: distances, order: 'smallest', weights, limit, pool: tokens })
}

/**
 * Writes the distance of each token's surprisal from the entropy of the tokens; infinity without a weight. `tokens`: null
 * for all. Returns the sum of their weights.
 */
function writeDistances(
  logits: Float32Array,
  weights: Float32Array,
  tokens: Int32Array | null,
  distances: Float32Array
): number {
  const size = tokens?.length ?? weights.length
  let total = 0
  let expected = 0
  for (let i = 0; i < size; i++) {
    const token = tokens === null ? i : (tokens[i] as number)
    const weight = weights[token] as number
    if (weight === 0) continue
    total += weight
    expected += weight * (logits[token] as number)
  }
  expected /= total
  // Up to a factor and an offset, the surprisal is the negative logit.
  for (let i = 0; i < size; i++) {
    const token = tokens === null ? i : (tokens[i] as number)
    distances[token] = weights[token] === 0 ? Number.POSITIVE_INFINITY : Math.abs((logits[token] as number) - expected)
  }
  return total
}

function sum(weights: Float32Array, tokens: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < tokens.length; i++) total += weights[tokens[i] as number] as number
  return total
}

function likeliest({ weights, ranked }: Distribution): number {
  return ranked[0] ?? argmax(weights)
}
