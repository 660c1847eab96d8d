import type { Job } from './job.ts'
import type { Snapshot, StateSnapshots } from './state-snapshots.ts'

/** Row of the cache, and its contents. */
export interface CacheRow {
  /** Index in the cache. Changes, because rows that are computed together are made adjacent. */
  index: number
  /** Tokens of the sequence; the row contains the keys and values of the first `length`. */
  tokens: readonly number[]
  length: number
  /** Weights that computed the keys and values; see {@link Job.weights}. */
  weights: unknown
  inUse: boolean
  /** Release order: the value of a counter when the row was released. */
  releasedAt: number
}

/** Another row that contains more of a job's tokens than the job's own row. */
export interface Donor {
  readonly row: CacheRow
  /** Number of tokens that the job can take from the row. */
  readonly length: number
  /** States at that length; null: those of the row. */
  readonly snapshot: Snapshot | null
}

/** Row for a job. */
export interface TakenRow {
  readonly row: CacheRow
  /** States to restore, because the row was cut back; null if there is nothing to restore. */
  readonly snapshot: Snapshot | null
}

/** Length up to which a job can continue a row, and the states at that length. */
type Reach = Pick<Donor, 'length' | 'snapshot'>

/** Shared tokens from which it pays to save the states at the end of a common beginning, such as a system prompt. */
const MIN_SHARED = 256

type PromptReader = Pick<Job, 'tokens' | 'weights' | 'reusePrefix'>

/**
 * Prefix cache: tracks the contents of each row.
 *
 * Finished sequences leave their keys and values in their rows. There are few rows, so a lookup compares all of them,
 * token by token.
 */
export class CacheRows {
  readonly all: readonly CacheRow[]
  readonly #snapshots: StateSnapshots | null
  #releases = 0

  /** `snapshots`: of the states that cannot be cut back; null if the cache has none. */
  constructor(slots: number, snapshots: StateSnapshots | null = null) {
    this.#snapshots = snapshots
    this.all = Array.from({ length: slots }, (_, index) => ({
      index,
      tokens: [],
      length: 0,
      weights: null,
      inUse: false,
      releasedAt: 0
    }))
  }

  /** Number of positions in use. */
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
   * Returns a free row for a job, truncated to the prefix that both share.
   *
   * Chooses the row with the longest common prefix if at least half of the row is shared: it probably contains an
   * earlier turn of the conversation. Otherwise evicts the least recently used row, since the other prefix may serve
   * others.
   */
  take(job: PromptReader): TakenRow {
    const free = this.all.filter(({ inUse }) => !inUse)
    const shared = new Map(free.map(row => [row, this.#reach(row, job)]))
    const common = (row: CacheRow) => shared.get(row)?.length ?? 0
    const best = free.reduce((a, b) => (common(b) > common(a) ? b : a))
    const oldest = free.reduce((a, b) => (evictionOrder(b) < evictionOrder(a) ? b : a))
    const row = common(best) > 0 && best.length - common(best) <= common(best) ? best : oldest
    row.length = common(row)
    row.tokens = job.tokens
    row.weights = job.weights
    row.inUse = true
    return { row, snapshot: shared.get(row)?.snapshot ?? null }
  }

  /**
   * Returns the length at which a job's tokens leave those of every row, if it is long and the states at that length are
   * unknown; else null.
   */
  divergence(job: PromptReader): number | null {
    const shared = Math.max(...this.all.map(row => commonPrefix(row, job)))
    return shared >= MIN_SHARED && this.#snapshots?.best(job, shared)?.tokens.length !== shared ? shared : null
  }

  release(row: CacheRow): void {
    row.inUse = false
    row.releasedAt = ++this.#releases
  }

  /**
   * Returns the row, active or not, that shares the longest prefix with the job, if longer than in the job's own row.
   */
  donor(own: CacheRow, job: PromptReader): Donor | null {
    let best: Donor | null = null
    for (const row of this.all) {
      if (row === own || row.length <= own.length) continue
      const reach = this.#reach(row, job)
      if (reach.length > (best?.length ?? own.length)) best = { row, ...reach }
    }
    return best
  }

  /** Returns how far a job can continue a row: where its states are known, if they cannot be cut back. */
  #reach(row: CacheRow, job: PromptReader): Reach {
    const length = commonPrefix(row, job)
    if (this.#snapshots === null || length === row.length) return { length, snapshot: null }
    const snapshot = this.#snapshots.best(job, length)
    return { length: snapshot?.tokens.length ?? 0, snapshot }
  }
}

/** Returns the position in eviction order: empty rows first, then rows in the order of their release. */
function evictionOrder({ length, releasedAt }: CacheRow): number {
  return length === 0 ? -1 : releasedAt
}

/** Returns how many positions of a row a job can reuse. The last token is always computed: logits are not cached. */
function commonPrefix(row: CacheRow, { tokens, weights, reusePrefix }: PromptReader): number {
  if (!reusePrefix || row.weights !== weights) return 0
  const limit = Math.min(row.length, tokens.length - 1)
  let length = 0
  while (length < limit && row.tokens[length] === tokens[length]) length++
  return length
}
