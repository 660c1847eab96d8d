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
/** Tokens whose weights are summed without a look at each sum. */
const BLOCK = 512

/**
 * Returns the first tokens in the order of their keys, up to the limit, in ascending order of their ids. Of equal keys,
 * the smaller id comes first.
 *
 * Sums the weights by the highest bits of their keys, and looks closer only at those in the bucket of the
 * limit. That takes time proportional to the number of tokens, whatever the limit, where a sort or a heap takes much
 * longer for a limit of many tokens.
 */
export function selectTokens(selection: Selection): Int32Array {
  const { pool } = selection
  const ranks = new Ranks(selection)
  const end = endOf(selection, ranks)
  if (end === null) return pool ?? Int32Array.from(ranks.bits.keys())
  const { bits, flip } = ranks
  const size = pool?.length ?? bits.length
  const kept = new Int32Array(size)
  let count = 0
  for (let i = 0; i < size; i++) {
    const token = pool === null ? i : (pool[i] as number)
    const rank = (bits[token] as number) ^ flip
    if (rank < end.rank || (rank === end.rank && token <= end.token)) kept[count++] = token
  }
  return kept.subarray(0, count)
}

/**
 * Draws one of the tokens that `selectTokens` returns for the same selection, without a list of them. `drawn`: weight of
 * each token. `share`: random number in [0, 1). Null if these weights are 0, or if rounding errors prevent a choice.
 */
export function drawSelected(selection: Selection & { readonly pool: null }, drawn: Float32Array, share: number) {
  const ranks = new Ranks(selection)
  const end = endOf(selection, ranks) ?? ranks.noEnd
  const summed = selection.weights === drawn ? end.weight : null
  let rest = share * (summed ?? ranks.weightUpTo(end, drawn, 0, drawn.length))
  for (let from = 0; from < drawn.length; from += BLOCK) {
    const to = Math.min(from + BLOCK, drawn.length)
    const weight = ranks.weightUpTo(end, drawn, from, to)
    if (rest >= weight) {
      rest -= weight
      continue
    }
    for (let token = from; token < to; token++) {
      rest -= ranks.weightUpTo(end, drawn, token, token + 1)
      if (rest < 0) return token
    }
    // The sum of the block was rounded up.
    rest = 0
  }
  return null
}

/** Where a selection ends. */
interface End {
  /** Rank of the last token that is selected. */
  readonly rank: number
  /** The last token that is selected; those with the same rank and a larger id are not. */
  readonly token: number
  /** Sum of the selection's weights; null if it is unknown. */
  readonly weight: number | null
}

/**
 * The order of the keys as integers, smallest first: numbers without a sign are ordered like their bits, and inverted
 * bits give the opposite order. Signed, because engines compute faster with them.
 */
class Ranks {
  readonly bits: Int32Array
  /** The rank of a token is `bits[token] ^ flip`. */
  readonly flip: number
  /** After all keys. Differences of ranks have 32 bits, since all have the same sign. */
  readonly noEnd: End

  constructor({ keys, order }: Selection) {
    this.bits = new Int32Array(keys.buffer, keys.byteOffset, keys.length)
    this.flip = order === 'largest' ? -1 : 0
    this.noEnd = { rank: order === 'largest' ? 0 : 0x7fffffff, token: -1, weight: null }
  }

  /** Returns the sum of the weights of the selected tokens in a range of ids. Has no branches, which would be guessed wrong. */
  weightUpTo({ rank, token: last }: End, weights: Float32Array, from: number, to: number): number {
    const { bits, flip } = this
    let sum = 0
    // Up to the last token, those of its rank are selected, too.
    const middle = Math.min(to, Math.max(from, last + 1))
    for (let token = from; token < middle; token++)
      sum += (weights[token] as number) * ((((bits[token] as number) ^ flip) - rank - 1) >>> 31)
    for (let token = middle; token < to; token++)
      sum += (weights[token] as number) * ((((bits[token] as number) ^ flip) - rank) >>> 31)
    return sum
  }
}

/** Returns the end of the selection; null if its limit does not end it. */
function endOf({ weights, limit, pool }: Selection, ranks: Ranks): End | null {
  const { bits, flip } = ranks
  const sums = new Float64Array(BUCKETS)
  let rest: ArrayLike<number> | null = pool
  let missing = limit
  for (const { shift, mask } of PASSES) {
    sums.fill(0)
    addToBuckets(sums, { bits, flip, shift, mask, weights, rest })
    let reached = 0
    // A limit of 0 is reached by the first token with a weight.
    while (reached <= mask && ((sums[reached] as number) === 0 || missing > (sums[reached] as number)))
      missing -= sums[reached++] as number
    if (reached > mask) return null
    rest = tokensOf(reached, { bits, flip, shift, mask, rest })
  }
  // The keys of the rest are equal. A rounding error can leave the sum just below the limit.
  const last = rest ?? []
  let token = last[last.length - 1]
  for (let i = 0; i < last.length; i++) {
    missing -= weights === null ? 1 : (weights[last[i] as number] as number)
    if (missing > 0) continue
    token = last[i]
    break
  }
  return token === undefined ? null : { rank: (bits[token] as number) ^ flip, token, weight: limit - missing }
}

interface Buckets {
  readonly bits: Int32Array
  readonly flip: number
  readonly shift: number
  readonly mask: number
  /** Tokens; null: all. */
  readonly rest: ArrayLike<number> | null
}

/**
 * Adds the weight of each token, or 1, to the sum of its key's bucket. All tokens have separate loops, which is twice
 * as fast.
 */
function addToBuckets(
  sums: Float64Array,
  { bits, flip, shift, mask, weights, rest }: Buckets & { readonly weights: Float32Array | null }
): void {
  if (rest !== null)
    for (let i = 0; i < rest.length; i++) {
      const token = rest[i] as number
      const bucket = (((bits[token] as number) ^ flip) >> shift) & mask
      sums[bucket] = (sums[bucket] as number) + (weights === null ? 1 : (weights[token] as number))
    }
  else if (weights === null)
    for (let token = 0; token < bits.length; token++) {
      const bucket = (((bits[token] as number) ^ flip) >> shift) & mask
      sums[bucket] = (sums[bucket] as number) + 1
    }
  else
    for (let token = 0; token < bits.length; token++) {
      const bucket = (((bits[token] as number) ^ flip) >> shift) & mask
      sums[bucket] = (sums[bucket] as number) + (weights[token] as number)
    }
}

/** Returns the tokens in a bucket, in their order. */
function tokensOf(bucket: number, { bits, flip, shift, mask, rest }: Buckets): number[] {
  const within: number[] = []
  if (rest === null) {
    for (let token = 0; token < bits.length; token++)
      if (((((bits[token] as number) ^ flip) >> shift) & mask) === bucket) within.push(token)
  } else
    for (let i = 0; i < rest.length; i++)
      if (((((bits[rest[i] as number] as number) ^ flip) >> shift) & mask) === bucket) within.push(rest[i] as number)
  return within
}
