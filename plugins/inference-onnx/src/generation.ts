import { randomInt } from 'node:crypto'
import type { GenerateEvent, GenerateRequest, GenerateUsage, TokenLogprob } from '@svc/contracts'
import type { Job, JobOutcome } from './batching/job.ts'
import type { Scheduler } from './batching/scheduler.ts'
import type { Matcher } from './constraint/matcher.ts'
import type { Candidates } from './sampling/candidates.ts'
import { logprobs } from './sampling/logits.ts'
import { seededRandom } from './sampling/random.ts'
import { Sampler } from './sampling/sampler.ts'
import { type TextPiece, TextStream } from './text-stream.ts'
import type { Tokenizer } from './tokenizer.ts'
import { checkLogits } from './weights/finite.ts'

export interface GenerationOptions {
  readonly request: GenerateRequest
  readonly scheduler: Scheduler
  readonly tokenizer: Tokenizer
  readonly endTokens: ReadonlySet<number>
  /** Maximum tokens of prompt plus completion. */
  readonly contextLength: number
  /** Weights of the sequence; see {@link Job.weights}. */
  readonly weights: unknown
  /** Limit of waiting jobs for requests that set none. */
  readonly maxWaiting: number
  /** Matcher of the output constraint; null if there is none. */
  readonly matcher: Matcher | null
  /** Aborted by the caller, by closing the model, or when the events are no longer consumed. */
  readonly abort: AbortController
}

type FinishReason = 'stop' | 'length' | 'cancelled'
type ReportedLogprob = TokenLogprob & { readonly top: readonly TokenLogprob[] }

/** Unmodified logits and their candidates. */
interface Scores {
  readonly logits: Float32Array
  readonly candidates: Candidates | null
}

interface Reported {
  readonly token: number
  readonly logprob: ReportedLogprob | null
}

/** Number of unread events at which a sequence pauses, until its consumer has read all of them. */
const MAX_AHEAD = 16

/** Generates one sequence: waits for a slot, reads the prompt, then samples token by token. */
export async function* generate(options: GenerationOptions): AsyncGenerator<GenerateEvent, void, undefined> {
  const { scheduler, abort } = options
  const sequence = new Sequence(options)
  scheduler.submit(sequence)
  try {
    yield* sequence.events()
  } finally {
    abort.abort()
    await sequence.ended
  }
}

class Sequence implements Job {
  readonly client: string
  readonly wanted = 'last'
  readonly weights: unknown
  readonly maxWaiting: number
  readonly reusePrefix: boolean
  readonly signal: AbortSignal
  readonly takeArgmax: ((token: number) => number | null) | null
  readonly temperature: number | null
  /** Prompt and completion. */
  readonly tokens: number[]
  /** Resolves when the scheduler has finished the job. */
  readonly ended: Promise<void>
  readonly #options: GenerationOptions
  readonly #watch = new StopWatch()
  readonly #sampler: Sampler
  readonly #stream: TextStream<Reported>
  readonly #maxTokens: number
  #completionTokens = 0
  #cachedTokens = 0
  #reason: FinishReason = 'length'
  #failure: { readonly error: unknown } | null = null
  #events: GenerateEvent[] = []
  /** True while the consumer is behind. */
  #ahead = false
  #wakeConsumer: () => void = () => {}
  #settle: () => void = () => {}

  constructor(options: GenerationOptions) {
    const { request, contextLength, abort } = options
    this.#options = options
    this.client = request.client ?? ''
    this.weights = options.weights
    this.maxWaiting = request.maxWaiting ?? options.maxWaiting
    this.reusePrefix = request.reusePrefix ?? true
    this.signal = abort.signal
    const sampling = request.sampling ?? {}
    this.#sampler = new Sampler(sampling, seededRandom(sampling.seed ?? randomInt(2 ** 47)))
    const free = options.matcher === null && request.logprobs === undefined && this.#sampler.greedy
    this.takeArgmax = free ? token => this.#take(() => token) : null
    this.temperature = free ? null : this.#sampler.temperature
    this.#stream = new TextStream(request.stop ?? [])
    this.tokens = [...request.tokens]
    const room = contextLength - request.tokens.length
    this.#maxTokens = Math.min(request.maxTokens ?? room, room)
    this.ended = new Promise(resolve => {
      this.#settle = resolve
    })
  }

  get ready(): boolean {
    return !this.#ahead
  }

  start(): void {
    this.#watch.enter('promptNs')
  }

  reuse(count: number): void {
    this.#cachedTokens += count
  }

  take(logits: Float32Array, candidates: Candidates | null): number | null {
    // Invalid weights show in the first logits. Later, one logit is enough: NaN spreads to all of them.
    checkLogits(this.#completionTokens === 0 ? logits : logits.subarray(0, 1))
    // The sampler changes the logits, so log probabilities come from a copy.
    const unmodified = this.#options.request.logprobs === undefined ? null : { logits: logits.slice(), candidates }
    const choose = () =>
      this.#sampler.sample(logits, {
        history: this.tokens,
        allowed: this.#options.matcher?.allowed(),
        candidates
      })
    return this.#take(choose, unmodified)
  }

  /** Chooses the next token. `scores`: source of its log probabilities. */
  #take(choose: () => number, scores: Scores | null = null): number | null {
    if (this.#completionTokens === 0) this.#watch.enter('completionNs')
    const { matcher } = this.#options
    if (this.#maxTokens === 0 || matcher?.isFinished() === true) {
      this.#reason = matcher?.isFinished() === true ? 'stop' : 'length'
      return null
    }
    const { token, reported } = this.#next(choose(), scores)
    if (reported === null) {
      this.#reason = 'stop'
      return token
    }
    const piece = this.#stream.push({ bytes: this.#visibleBytes(token), data: reported })
    if (piece !== null) this.#emit(this.#textEvent(piece))
    if (this.#stream.stopped || matcher?.isFinished() === true) this.#reason = 'stop'
    else if (this.#completionTokens >= this.#maxTokens) this.#reason = 'length'
    else this.tokens.push(token)
    return token
  }

  end(outcome: JobOutcome): void {
    if (outcome.type === 'failed') this.#failure = outcome
    if (outcome.type === 'cancelled') this.#withdraw()
    const rest = this.#stream.finish()
    if (rest !== null) this.#emit(this.#textEvent(rest))
    this.#watch.enter('completionNs')
    if (outcome.type !== 'failed')
      this.#emit(this.#doneEvent(outcome.type === 'cancelled' ? 'cancelled' : this.#reason))
    this.#settle()
    this.#wakeConsumer()
  }

  /** Yields the events, to a single consumer. Throws the error with which the sequence failed. */
  async *events(): AsyncGenerator<GenerateEvent, void, undefined> {
    for (;;) {
      const event = this.#events.shift()
      if (this.#ahead && this.#events.length === 0) {
        this.#ahead = false
        this.#options.scheduler.wake()
      }
      if (event !== undefined) yield event
      else if (this.#failure !== null) throw this.#failure.error
      else await this.#nextEvent()
      if (event?.type === 'done') return
    }
  }

  /** Drops unread tokens after the consumer has stopped, and does not count them. */
  #withdraw(): void {
    for (const event of this.#events) if (event.type === 'text') this.#completionTokens -= event.tokens.length
    this.#events = []
  }

  #nextEvent(): Promise<void> {
    return new Promise(resolve => {
      this.#wakeConsumer = resolve
    })
  }

  #emit(event: GenerateEvent): void {
    this.#ahead ||= this.#events.push(event) >= MAX_AHEAD
    this.#wakeConsumer()
  }

  /** Accepts the next token. Returns it with its log probabilities, unless it ends the sequence. */
  #next(token: number, scores: Scores | null): { readonly token: number; readonly reported: Reported | null } {
    const { request, endTokens, tokenizer, matcher } = this.#options
    matcher?.accept(token)
    this.#completionTokens++
    if (request.ignoreEos !== true && endTokens.has(token)) return { token, reported: null }
    const text = (id: number) => Buffer.from(tokenizer.bytes(id)).toString('utf8')
    const logprob =
      scores === null ? null : logprobs(scores.logits, token, request.logprobs ?? 0, text, scores.candidates)
    return { token, reported: { token, logprob } }
  }

  #visibleBytes(token: number): Uint8Array {
    const { tokenizer } = this.#options
    return tokenizer.isSpecial(token) ? new Uint8Array() : tokenizer.bytes(token)
  }

  #textEvent({ text, data }: TextPiece<Reported>): GenerateEvent {
    const tokens = data.map(({ token }) => token)
    if (this.#options.request.logprobs === undefined) return { type: 'text', text, tokens }
    return { type: 'text', text, tokens, logprobs: data.flatMap(({ logprob }) => logprob ?? []) }
  }

  #doneEvent(finishReason: FinishReason): GenerateEvent {
    const usage: GenerateUsage = {
      promptTokens: this.#options.request.tokens.length,
      cachedTokens: this.#cachedTokens,
      completionTokens: this.#completionTokens,
      ...this.#watch.times
    }
    const stopString = this.#stream.stoppedBy
    return { type: 'done', finishReason, ...(stopString === null ? {} : { stopString }), usage }
  }
}

type Phase = 'queueNs' | 'promptNs' | 'completionNs'

class StopWatch {
  readonly times: Record<Phase, number> = { queueNs: 0, promptNs: 0, completionNs: 0 }
  #phase: Phase = 'queueNs'
  #since = process.hrtime.bigint()

  /** Adds the time since the last call to the current phase. */
  enter(phase: Phase): void {
    const now = process.hrtime.bigint()
    this.times[this.#phase] += Number(now - this.#since)
    this.#since = now
    this.#phase = phase
  }
}
