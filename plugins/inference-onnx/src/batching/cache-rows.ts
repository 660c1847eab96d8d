import type { Job } from './job.ts'

/** A row of the cache and what lies in it. */
export interface CacheRow {
  /** Its place; rows that are computed together are brought next to each other. */
  index: number
  /** The first `length` of these have their keys and values in the row. */
  tokens: readonly number[]
  length: number
  /** Weights that computed them; see {@link Job.weights}. */
  weights: unknown
  taken: boolean
  /** When it was given back, as a count of such events. */
  releasedAt: number
}

/** Another row that holds more of a job's tokens than its own one. */
export interface Donor {
  readonly row: CacheRow
  /** Positions that both have in common. */
  readonly length: number
}

type Reader = Pick<Job, 'tokens' | 'weights' | 'reusePrefix'>

/**
 * Which row holds what: the prefix cache.
 *
 * Finished sequences leave their keys and values behind. Rows are few, so they are simply compared, token by token.
 */
export class CacheRows {
  readonly all: readonly CacheRow[]
  #releases = 0

  constructor(slots: number) {
    this.all = Array.from({ length: slots }, (_, index) => ({
      index,
      tokens: [],
      length: 0,
      weights: null,
      taken: false,
      releasedAt: 0
    }))
  }

  /** Positions that hold something. */
  get used(): number {
    return this.all.reduce((sum, { length }) => sum + length, 0)
  }

  /** Lengths by place. */
  get lengths(): number[] {
    const lengths: number[] = []
    for (const { index, length } of this.all) lengths[index] = length
    return lengths
  }

  /**
   * A free row for a job, with what it shares with the job left in it.
   *
   * The free row with the longest common prefix is taken, if no more of it is lost than kept: it holds an earlier turn of
   * the same conversation then. Otherwise it may be of use to others, and the one that was not used for longest goes.
   */
  take(job: Reader): CacheRow {
    const free = this.all.filter(({ taken }) => !taken)
    const shared = new Map(free.map(row => [row, commonPrefix(row, job)]))
    const common = (row: CacheRow) => shared.get(row) ?? 0
    const best = free.reduce((a, b) => (common(b) > common(a) ? b : a))
    const oldest = free.reduce((a, b) => (worth(b) < worth(a) ? b : a))
    const row = common(best) > 0 && best.length - common(best) <= common(best) ? best : oldest
    row.length = common(row)
    row.tokens = job.tokens
    row.weights = job.weights
    row.taken = true
    return row
  }

  release(row: CacheRow): void {
    row.taken = false
    row.releasedAt = ++this.#releases
  }

  /** The row, running or not, from which more of the job's tokens can be copied than its own row holds. */
  donor(own: CacheRow, job: Reader): Donor | null {
    let best: Donor | null = null
    for (const row of this.all) {
      if (row === own || row.length <= own.length) continue
      const length = commonPrefix(row, job)
      if (length > (best?.length ?? own.length)) best = { row, length }
    }
    return best
  }
}

/** Empty rows come first, then those that were given back first. */
function worth({ length, releasedAt }: CacheRow): number {
  return length === 0 ? -1 : releasedAt
}

/** Positions of a row that a job can use. The last token is always computed, since its logits are not kept. */
function commonPrefix(row: CacheRow, { tokens, weights, reusePrefix }: Reader): number {
  if (!reusePrefix || row.weights !== weights) return 0
  const limit = Math.min(row.length, tokens.length - 1)
  let length = 0
  while (length < limit && row.tokens[length] === tokens[length]) length++
  return length
}
