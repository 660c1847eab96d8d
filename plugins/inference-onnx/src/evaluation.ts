import type { Job, JobOutcome } from './batching/job.ts'

export interface EvaluationOptions {
  readonly tokens: readonly number[]
  readonly vocabularySize: number
  readonly weights: unknown
  readonly maxWaiting: number
  readonly signal: AbortSignal
}

/** Computes the logits at every position of a token sequence. */
export class Evaluation implements Job {
  readonly client = ''
  readonly wanted = 'all'
  readonly weights: unknown
  readonly maxWaiting: number
  readonly reusePrefix = false
  readonly ready = true
  readonly takeArgmax = null
  readonly temperature = null
  readonly tokens: readonly number[]
  readonly signal: AbortSignal
  readonly #vocabularySize: number
  readonly #rows: Float32Array[] = []
  readonly #ended: Promise<JobOutcome>
  #end: (outcome: JobOutcome) => void = () => {}

  constructor({ tokens, vocabularySize, weights, maxWaiting, signal }: EvaluationOptions) {
    this.tokens = tokens
    this.maxWaiting = maxWaiting
    this.weights = weights
    this.signal = signal
    this.#vocabularySize = vocabularySize
    this.#ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  /** One array per token; null if cancelled. */
  async result(): Promise<Float32Array[] | null> {
    const outcome = await this.#ended
    if (outcome.type === 'failed') throw outcome.error
    return outcome.type === 'finished' ? this.#rows : null
  }

  start(): void {}

  reuse(): void {}

  take(logits: Float32Array): null {
    for (let start = 0; start < logits.length; start += this.#vocabularySize) {
      this.#rows.push(logits.slice(start, start + this.#vocabularySize))
    }
    return null
  }

  end(outcome: JobOutcome): void {
    this.#end(outcome)
  }
}
