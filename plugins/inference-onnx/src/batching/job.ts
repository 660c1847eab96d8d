import type { Candidates } from '../sampling/candidates.ts'
import type { Wanted } from './frame.ts'

/** Outcome of a job, when the scheduler has ended it. */
export type JobOutcome =
  | { readonly type: 'finished' | 'cancelled' }
  | { readonly type: 'failed'; readonly error: unknown }

/**
 * One sequence, as the scheduler sees it.
 *
 * 1. The job waits for a slot; then `start` is called.
 * 2. Its tokens are read in chunks. The logits of the last token are passed to `take`; if all are requested, the logits
 *    of each chunk.
 * 3. `take` may append a token, which is computed next, and its logits are passed to `take` again. A job without a
 *    token left to compute is finished.
 * 4. `end` is always called exactly once, even if the job never got a slot.
 */
export interface Job {
  /** Identity of the client; admission is fair between clients. */
  readonly client: string
  /** Processed and pending tokens. The scheduler keeps a reference to the array; the job only appends to it. */
  readonly tokens: readonly number[]
  readonly wanted: Wanted
  /** Maximum tokens of a chunk, if smaller than that of the session. */
  readonly maxChunk?: number
  /** Identity of the weights; jobs on the same weights have the same object. Keys and values depend on it. */
  readonly weights: unknown
  /** Maximum number of jobs that wait for a slot, including this one. */
  readonly maxWaiting: number
  /** True if the job may reuse keys and values of other jobs. */
  readonly reusePrefix: boolean
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal
  /**
   * False while the consumer is behind: the job keeps its slot but is not computed.
   * When it becomes true again, the scheduler must be woken with `wake`.
   */
  readonly ready: boolean
  start(): void
  /** Called with the number of tokens found in the cache. */
  reuse(count: number): void
  /**
   * Receives logits `[vocabulary]`, or `[tokens of the chunk, vocabulary]` if all are requested, and the candidates of a
   * single row, if the session computes them and the job has a temperature. May change the arrays, but must not keep
   * them. Returns the chosen token, whether it was appended or not, or null if none was chosen.
   */
  take(logits: Float32Array, candidates: Candidates | null): number | null
  /** Temperature of the candidates; null if the job needs none. */
  readonly temperature: number | null
  /** Called instead of `take`, with the argmax, if the job needs only that; null for other jobs. */
  readonly takeArgmax: ((token: number) => number | null) | null
  end(outcome: JobOutcome): void
}
