import type { SamplingOptions, TokenLogprob } from '@svc/contracts'
import { detokenize } from './toy-tokenizer.ts'

/** Returns a seeded random number generator with values in [0, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Samples a token: applies biases and penalties, then temperature, top-k, top-p, min-p. */
export function pick(
  logits: Float32Array,
  history: readonly number[],
  options: SamplingOptions,
  draw: () => number
): number {
  const scores = Float64Array.from(logits)
  for (const [token, bias] of options.logitBias ?? []) if (token < scores.length) scores[token]! += bias
  penalise(scores, history, options)
  const temperature = options.temperature ?? 0.7
  if (temperature === 0) return scores.indexOf(Math.max(...scores))
  const order = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!)
  const weights = order.map(token => Math.exp((scores[token]! - scores[order[0]!]!) / temperature))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let kept = options.topK || order.length
  let mass = 0
  for (let at = 0; at < kept; at++) {
    if (weights[at]! < (options.minP ?? 0) || mass / total >= (options.topP ?? 1)) kept = Math.max(1, at)
    else mass += weights[at]!
  }
  let left = draw() * weights.slice(0, kept).reduce((sum, weight) => sum + weight, 0)
  for (let at = 0; at < kept; at++) {
    left -= weights[at]!
    if (left < 0) return order[at]!
  }
  return order[kept - 1]!
}

function penalise(scores: Float64Array, history: readonly number[], options: SamplingOptions): void {
  const { repeatPenalty = 1, presencePenalty = 0, frequencyPenalty = 0, repeatLastN = 64 } = options
  if (repeatLastN === 0) return
  const counts = new Map<number, number>()
  for (const token of repeatLastN < 0 ? history : history.slice(-repeatLastN)) {
    counts.set(token, (counts.get(token) ?? 0) + 1)
  }
  for (const [token, count] of counts) {
    const score = scores[token]!
    scores[token] = score > 0 ? score / repeatPenalty : score * repeatPenalty
    scores[token]! -= presencePenalty + count * frequencyPenalty
  }
}

export function logprobsOf(logits: Float32Array, token: number, alternatives: number) {
  const peak = Math.max(...logits)
  const norm = peak + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - peak), 0))
  const entry = (id: number): TokenLogprob => ({ token: id, text: detokenize([id]), logprob: logits[id]! - norm })
  const order = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!)
  return { ...entry(token), top: order.slice(0, alternatives).map(entry) }
}
