import type { ScoredToken, ScoreRequest } from '@svc/contracts'
import type { Job, JobOutcome } from './batching/job.ts'
import { logprobs } from './sampling/logits.ts'
import type { Tokenizer } from './tokenizer.ts'
import { checkLogits } from './weights/finite.ts'

export interface ScoringOptions {
  readonly request: ScoreRequest
  readonly tokenizer: Pick<Tokenizer, 'bytes'>
  readonly vocabularySize: number
  readonly weights: unknown
  /** Limit of waiting jobs for requests that set none. */
  readonly maxWaiting: number
  readonly signal: AbortSignal
}

/** Logits that are computed and weighed at once: 8 MiB, and about 10 ms of the event loop. */
const MAX_LOGITS = 2 ** 21
const MIN_CHUNK = 4
const MAX_CHUNK = 64

/** Computes the log probability of each token of a sequence. Keeps the logits of only one chunk. */
export class Scoring implements Job {
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
  readonly #options: ScoringOptions
  readonly #scores: ScoredToken[] = []
  readonly #ended: Promise<JobOutcome>
  #end: (outcome: JobOutcome) => void = () => {}

  constructor(options: ScoringOptions) {
    const { request, vocabularySize, weights, maxWaiting, signal } = options
    this.#options = options
    this.client = request.client ?? ''
    this.tokens = request.tokens
    this.weights = weights
    this.maxWaiting = request.maxWaiting ?? maxWaiting
    this.signal = signal
    this.maxChunk = Math.max(MIN_CHUNK, Math.min(MAX_CHUNK, Math.floor(MAX_LOGITS / vocabularySize)))
    this.#ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  /** One score for each token but the first; null if cancelled. */
  async result(): Promise<readonly ScoredToken[] | null> {
    const outcome = await this.#ended
    if (outcome.type === 'failed') throw outcome.error
    return outcome.type === 'finished' ? this.#scores : null
  }

  start(): void {}

  reuse(): void {}

  take(logits: Float32Array): null {
    const { request, tokenizer, vocabularySize } = this.#options
    checkLogits(this.#scores.length === 0 ? logits.subarray(0, vocabularySize) : logits.subarray(0, 1))
    const text = (id: number) => Buffer.from(tokenizer.bytes(id)).toString('utf8')
    for (let start = 0; start < logits.length; start += vocabularySize) {
      const next = this.tokens[this.#scores.length + 1]
      if (next === undefined) break
      const row = logits.subarray(start, start + vocabularySize)
      this.#scores.push({ ...logprobs(row, next, request.top ?? 0, text), rank: rankOf(row, next) })
    }
    return null
  }

  end(outcome: JobOutcome): void {
    this.#end(outcome)
  }
}

function rankOf(logits: Float32Array, token: number): number {
  const own = logits[token] as number
  let rank = 1
  for (let other = 0; other < logits.length; other++) if ((logits[other] as number) > own) rank++
  return rank
}
