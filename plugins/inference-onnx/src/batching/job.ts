import type { Wanted } from './frame.ts'

/** Reports that the scheduler has finished a job. */
export type JobOutcome =
  | { readonly type: 'finished' | 'cancelled' }
  | { readonly type: 'failed'; readonly error: unknown }

/**
 * One sequence, as the scheduler sees it.
 *
 * 1. It waits for a slot; then `start` is called. 2. Its tokens are read in chunks. The logits of the last token are
 * passed to `take`; if all are requested, those of each chunk. 3. `take` may append a token, which is computed next;
 * its logits are passed to `take` again. A job without a token left to compute is finished. 4. `end` is always called
 * exactly once, also if step 1 was never reached.
 */
export interface Job {
  /** Client of the job; admission is fair between clients. */
  readonly client: string
  /** Processed and pending tokens. The scheduler keeps the array; the job only ever appends to it. */
  readonly tokens: readonly number[]
  readonly wanted: Wanted
  /** Weights that determine keys and values together with the tokens; compared by identity. Equal for jobs on the same weights. */
  readonly weights: unknown
  /** True if keys and values of other jobs may be reused. */
  readonly reusePrefix: boolean
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal
  /**
   * False while the consumer is behind: the job keeps its slot but is not computed. It calls `wake` when that changes.
   */
  readonly ready: boolean
  start(): void
  /** Called with the number of tokens found in the cache. */
  reuse(count: number): void
  /**
   * `logits` is `[vocabulary]`, or `[tokens of the chunk, vocabulary]` if all are requested; `take` may change it but
   * must not keep it. Returns the chosen token, appended or not, or null.
   */
  take(logits: Float32Array): number | null
  /**
   * Replaces `take` for a job that needs only the argmax; receives that token. Null
   * for other jobs.
   */
  readonly takeArgmax: ((token: number) => number | null) | null
  end(outcome: JobOutcome): void
}
