export interface Selection {
  /** One number per token, 0 or larger. */
  readonly keys: Float32Array
  readonly order: 'largest' | 'smallest'
  /** Value that each token adds to the sum that ends the selection; null: 1. */
  readonly weights: Float32Array | null
  /** Sum of weights; the token that reaches it is the last one. */
  readonly limit: number
  /** Tokens to select from, in ascending order; null: all. */
  readonly pool: Int32Array | null
}

/** Bits of a key that are compared in one pass, from the highest: 31 in all, since keys have no sign. */
const PASSES = [
  { shift: 20, mask: 0x7ff },
  { shift: 9, mask: 0x7ff },
  { shift: 0, mask: 0x1ff }
] as const
const BUCKETS = 2048
/** Numbers are ordered like their bits; inverted bits give the opposite order. */
const INVERTED = 0x7fffffff

/**
 * Returns the first tokens in the order of their keys, up to the limit, in ascending order of their ids. Of equal keys,
 * the smaller id comes first.
 *
 * Sums the weights by the highest bits of their keys, and looks closer only at those in the bucket of the
 * limit. That takes time proportional to the number of tokens, whatever the limit, where a sort or a heap takes much
 * longer for a limit of many tokens.
 */
export function selectTokens(selection: Selection): Int32Array {
  const { keys, order, pool } = selection
  const bits = new Uint32Array(keys.buffer, keys.byteOffset, keys.length)
  const flip = order === 'largest' ? INVERTED : 0
  const last = lastToken(selection, bits, flip)
  const size = pool?.length ?? bits.length
  const lastRank = last === null ? Number.POSITIVE_INFINITY : ((bits[last] as number) ^ flip) >>> 0
  const kept = new Int32Array(size)
  let count = 0
  for (let i = 0; i < size; i++) {
    const token = pool === null ? i : (pool[i] as number)
    const rank = ((bits[token] as number) ^ flip) >>> 0
    if (rank < lastRank || (rank === lastRank && token <= (last as number))) kept[count++] = token
  }
  return kept.subarray(0, count)
}

/** Returns the token that reaches the limit; null if none does. */
function lastToken({ weights, limit, pool }: Selection, bits: Uint32Array, flip: number): number | null {
  const sums = new Float64Array(BUCKETS)
  let rest: ArrayLike<number> | null = pool
  let missing = limit
  for (const { shift, mask } of PASSES) {
    sums.fill(0)
    const size: number = rest?.length ?? bits.length
    for (let i = 0; i < size; i++) {
      const token = rest === null ? i : (rest[i] as number)
      const bucket = (((bits[token] as number) ^ flip) >>> shift) & mask
      sums[bucket] = (sums[bucket] as number) + (weights === null ? 1 : (weights[token] as number))
    }
    let reached = 0
    // A limit of 0 is reached by the first token with a weight.
    while (reached <= mask && ((sums[reached] as number) === 0 || missing > (sums[reached] as number)))
      missing -= sums[reached++] as number
    if (reached > mask) return null
    const within: number[] = []
    for (let i = 0; i < size; i++) {
      const token = rest === null ? i : (rest[i] as number)
      if (((((bits[token] as number) ^ flip) >>> shift) & mask) === reached) within.push(token)
    }
    rest = within
  }
  // The keys of the rest are equal. A rounding error can leave the sum just below the limit.
  const last = rest ?? []
  for (let i = 0; i < last.length; i++) {
    missing -= weights === null ? 1 : (weights[last[i] as number] as number)
    if (missing <= 0) return last[i] as number
  }
  return last[last.length - 1] ?? null
}
