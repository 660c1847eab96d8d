import type { TokenLogprob } from '@svc/contracts'
import { sumOfWeights } from './token-weights.ts'

/** Logit of a token that is never chosen. */
const FORBIDDEN = Number.NEGATIVE_INFINITY

/** Returns the token with the largest logit; in a tie, the smaller id. NaN never wins. */
export function argmax(logits: Float32Array): number {
  let best = 0
  let value = Number.NEGATIVE_INFINITY
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number
    if (logit > value) {
      value = logit
      best = token
    }
  }
  return best
}

/** Excludes all tokens whose bit in `allowed` is not set. Bit 0 of the first word stands for token 0. */
export function forbidOthers(logits: Float32Array, allowed: Uint32Array): void {
  for (let first = 0; first < logits.length; first += 32) {
    const word = allowed[first >> 5] ?? 0
    const end = Math.min(first + 32, logits.length)
    if (word === 0) {
      logits.fill(FORBIDDEN, first, end)
      continue
    }
    // Iterates over the unset bits; bits after the last token have no logit.
    for (let rest = ~word; rest !== 0; rest &= rest - 1) {
      const token = first + 31 - Math.clz32(rest & -rest)
      if (token < end) logits[token] = FORBIDDEN
    }
  }
}

/** Returns the tokens with the `count` largest logits, most likely first; in a tie, the smaller id first. */
export function largest(logits: Float32Array, count: number): number[] {
  const before = (a: number, b: number) => (logits[b] as number) - (logits[a] as number) || a - b
  if (count >= logits.length / 4) {
    return Array.from(logits.keys()).sort(before).slice(0, count)
  }
  const heap: number[] = []
  for (let token = 0; token < logits.length; token++) {
    if (heap.length < count) {
      heap.push(token)
      if (heap.length === count) heapify(heap, before)
    } else if ((logits[token] as number) > (logits[heap[0] as number] as number)) {
      heap[0] = token
      sink(heap, 0, before)
    }
  }
  return heap.sort(before)
}

/** Restores the heap property: `heap[0]` is the element that `before` orders last. */
function heapify(heap: number[], before: (a: number, b: number) => number): void {
  for (let i = (heap.length >> 1) - 1; i >= 0; i--) sink(heap, i, before)
}

function sink(heap: number[], start: number, before: (a: number, b: number) => number): void {
  let parent = start
  for (;;) {
    let last = 2 * parent + 1
    if (last >= heap.length) return
    if (last + 1 < heap.length && before(heap[last + 1] as number, heap[last] as number) > 0) last++
    if (before(heap[last] as number, heap[parent] as number) <= 0) return
    const value = heap[parent] as number
    heap[parent] = heap[last] as number
    heap[last] = value
    parent = last
  }
}

/**
 * Returns the log probabilities of a token and of the `count` most likely ones, from unmodified logits. `candidates`: of
 * these logits; null: all tokens are weighed here.
 */
export function logprobs(
  logits: Float32Array,
  chosen: number,
  count: number,
  text: (token: number) => string,
  candidates: { readonly tokens: readonly number[]; readonly logSum: number } | null = null
): TokenLogprob & { readonly top: readonly TokenLogprob[] } {
  const logSum = candidates?.logSum ?? logSumOf(logits)
  const describe = (token: number) => ({ token, text: text(token), logprob: (logits[token] as number) - logSum })
  const known = candidates !== null && count <= candidates.tokens.length ? candidates.tokens.slice(0, count) : null
  return { ...describe(chosen), top: count === 0 ? [] : (known ?? largest(logits, count)).map(describe) }
}

function logSumOf(logits: Float32Array): number {
  const best = argmax(logits)
  return (logits[best] as number) + Math.log(sumOfWeights(logits, best, 1))
}
