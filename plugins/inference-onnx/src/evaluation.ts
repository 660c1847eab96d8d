import type { Job, JobOutcome } from './batching/job.ts'

export interface EvaluationOptions<A> {
  readonly tokens: readonly number[]
  readonly weights: unknown
  readonly maxWaiting: number
  readonly signal: AbortSignal
  /** Default: the same client for all. */
  readonly client?: string | undefined
  /** Maximum tokens of a chunk. Default: that of the session. */
  readonly maxChunk?: number
  /**
   * Returns what the caller wants of the logits `[tokens, vocabulary]` of a chunk, which are not valid later. `start`: index
   * of the chunk's first token.
   */
  read(logits: Float32Array, start: number): readonly A[]
}

/** Computes the logits at every position of a token sequence, and keeps what the caller reads of them. */
export class Evaluation<A> implements Job {
  readonly client: string
  readonly wanted = 'all'
  readonly maxChunk: number
  readonly weights: unknown
  readonly maxWaiting: number
  /** The logits of a reused prefix are unknown. */
  readonly reusePrefix = false
  readonly ready = true
  readonly takeArgmax = null
  readonly temperature = null
  readonly tokens: readonly number[]
  readonly signal: AbortSignal
  readonly #vocabularySize: number
  readonly #read: EvaluationOptions<A>['read']
  readonly #results: A[] = []
  #position = 0
  readonly #ended: Promise<JobOutcome>
  #end: (outcome: JobOutcome) => void = () => {}

  constructor(vocabularySize: number, options: EvaluationOptions<A>) {
    const { tokens, weights, maxWaiting, signal, client = '', maxChunk = Number.POSITIVE_INFINITY, read } = options
    this.#vocabularySize = vocabularySize
    this.tokens = tokens
    this.weights = weights
    this.maxWaiting = maxWaiting
    this.signal = signal
    this.client = client
    this.maxChunk = maxChunk
    this.#read = read
    this.#ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  /** Returns what was read of all chunks, in their order; null if cancelled. */
  async result(): Promise<A[] | null> {
    const outcome = await this.#ended
    if (outcome.type === 'failed') throw outcome.error
    return outcome.type === 'finished' ? this.#results : null
  }

  start(): void {}

  reuse(): void {}

  take(logits: Float32Array): null {
    for (const result of this.#read(logits, this.#position)) this.#results.push(result)
    this.#position += logits.length / this.#vocabularySize
    return null
  }

  end(outcome: JobOutcome): void {
    this.#end(outcome)
  }
}

/** Returns copies of the rows of a matrix. */
export function rowsOf(matrix: Float32Array, size: number): Float32Array[] {
  return Array.from({ length: matrix.length / size }, (_, row) => matrix.slice(row * size, (row + 1) * size))
}
