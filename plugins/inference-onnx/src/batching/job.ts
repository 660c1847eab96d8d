import type { Wanted } from './frame.ts'

/** How the scheduler is done with a job. */
export type Outcome = { readonly type: 'finished' | 'cancelled' } | { readonly type: 'failed'; readonly error: unknown }

/**
 * One sequence, as the scheduler sees it.
 *
 * 1. It waits until a slot is free; then `start` is called.
 * 2. Its tokens are read in chunks. The logits of the last one are handed to `take`; where all are wanted, those of each
 *    chunk.
 * 3. `take` may append a token, which is computed next and whose logits are handed to `take` again. A job that has no
 *    token left to compute after that is finished.
 * 4. `end` is called once, whatever happened, also when step 1 was never reached.
 */
export interface Job {
  /** Client of the job; admission is fair between clients. */
  readonly client: string
  /** Tokens read and to be read. The scheduler keeps the array; the job only ever appends to it. */
  readonly tokens: readonly number[]
  readonly wanted: Wanted
  /** Weights that determine keys and values together with the tokens; compared by identity. Equal for jobs on the same weights. */
  readonly weights: unknown
  /** Whether keys and values that another job computed may be used. */
  readonly reusePrefix: boolean
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal
  /** False while the consumer is behind: the job keeps its slot and is not computed. It calls `wake` when that changes. */
  readonly ready: boolean
  start(): void
  /** Told how many of the tokens were found in the cache. */
  reuse(count: number): void
  /**
   * `logits` is `[vocabulary]`, or `[tokens of the chunk, vocabulary]` where all are wanted; it may be changed, and not
   * kept. Returns the token that was chosen, whether or not it was appended, or null.
   */
  take(logits: Float32Array): number | null
  /**
   * Instead of `take`, for a job that only needs the argmax: receives that token. Null
   * for other jobs.
   */
  readonly takeArgmax: ((token: number) => number | null) | null
  end(outcome: Outcome): void
}
