import type { Job } from './job.ts'

/** A row of the cache and its contents. */
export interface CacheRow {
  /** Its index; rows that are computed together are made adjacent. */
  index: number
  /** The keys and values of the first `length` tokens are in the row. */
  tokens: readonly number[]
  length: number
  /** Weights that computed them; see {@link Job.weights}. */
  weights: unknown
  taken: boolean
  /** Release order: the value of a counter when the row was released. */
  releasedAt: number
}

/** Another row with more of a job's tokens than its own row. */
export interface Donor {
  readonly row: CacheRow
  /** Length of the common prefix. */
  readonly length: number
}

type PromptReader = Pick<Job, 'tokens' | 'weights' | 'reusePrefix'>

/**
 * The prefix cache: contents of each row.
 *
 * Finished sequences leave their keys and values in their rows. There are few rows, so lookups compare them token by
 * token.
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

  /** Positions in use. */
  get used(): number {
    return this.all.reduce((sum, { length }) => sum + length, 0)
  }

  /** Lengths by row index. */
  get lengths(): number[] {
    const lengths: number[] = []
    for (const { index, length } of this.all) lengths[index] = length
    return lengths
  }

  /**
   * A free row for a job, cut to the prefix that both share.
   *
   * Prefers the free row with the longest common prefix if at least half of it is shared: it probably holds an earlier
   * turn of the conversation. Otherwise, evicts the least recently used row, since that prefix may serve others.
   */
  take(job: PromptReader): CacheRow {
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

  /** The row, active or not, from which more of the job's tokens can be copied than its own row holds. */
  donor(own: CacheRow, job: PromptReader): Donor | null {
    let best: Donor | null = null
    for (const row of this.all) {
      if (row === own || row.length <= own.length) continue
      const length = commonPrefix(row, job)
      if (length > (best?.length ?? own.length)) best = { row, length }
    }
    return best
  }
}

/** Empty rows come first, then rows in release order. */
function worth({ length, releasedAt }: CacheRow): number {
  return length === 0 ? -1 : releasedAt
}

/** Positions of a row that a job can reuse. The last token is always computed, since its logits are not kept. */
function commonPrefix(row: CacheRow, { tokens, weights, reusePrefix }: PromptReader): number {
  if (!reusePrefix || row.weights !== weights) return 0
  const limit = Math.min(row.length, tokens.length - 1)
  let length = 0
  while (length < limit && row.tokens[length] === tokens[length]) length++
  return length
}
