import { randomInt } from 'node:crypto'
import type { GenerateEvent, GenerateRequest, GenerateUsage, TokenLogprob } from '@svc/contracts'
import { logprobs } from './logits.ts'
import { seededRandom } from './random.ts'
import { Sampler } from './sampling.ts'
import type { Scheduler } from './scheduler.ts'
import { type Piece, TextStream } from './text-stream.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface GenerationOptions {
  readonly request: GenerateRequest
  readonly scheduler: Scheduler
  readonly tokenizer: Tokenizer
  readonly endTokens: ReadonlySet<number>
  /** Tokens of prompt and completion together. */
  readonly contextLength: number
  /** Aborted by the caller, or because the model closes. */
  readonly signal: AbortSignal
}

type FinishReason = 'stop' | 'length' | 'cancelled'
type ReportedLogprob = TokenLogprob & { readonly top: readonly TokenLogprob[] }

interface Reported {
  readonly token: number
  readonly logprob: ReportedLogprob | null
}

/** Generates one sequence: waits for a slot, reads the prompt, then samples token by token. */
export async function* generate(options: GenerationOptions): AsyncGenerator<GenerateEvent, void, undefined> {
  const { scheduler, signal } = options
  const watch = new StopWatch()
  const slot = await scheduler.slots.acquire(signal)
  watch.lap('queueNs')
  if (slot === null) {
    yield watch.done('cancelled', options.request.tokens.length, 0)
    return
  }
  try {
    yield* new Sequence(options, slot, watch).run()
  } finally {
    scheduler.slots.release(slot)
  }
}

class Sequence {
  readonly #options: GenerationOptions
  readonly #slot: number
  readonly #watch: StopWatch
  readonly #sampler: Sampler
  readonly #stream: TextStream<Reported>
  /** Prompt and completion. */
  readonly #tokens: number[]
  readonly #maxTokens: number
  #completionTokens = 0

  constructor(options: GenerationOptions, slot: number, watch: StopWatch) {
    const { request, contextLength } = options
    this.#options = options
    this.#slot = slot
    this.#watch = watch
    const sampling = request.sampling ?? {}
    this.#sampler = new Sampler(sampling, seededRandom(sampling.seed ?? randomInt(2 ** 47)))
    this.#stream = new TextStream(request.stop ?? [])
    this.#tokens = [...request.tokens]
    const room = contextLength - request.tokens.length
    this.#maxTokens = Math.min(request.maxTokens ?? room, room)
  }

  async *run(): AsyncGenerator<GenerateEvent, void, undefined> {
    let logits = await this.#readPrompt()
    this.#watch.lap('promptNs')
    let reason: FinishReason | null = null
    while (reason === null) {
      if (logits === null) reason = 'cancelled'
      else if (this.#completionTokens >= this.#maxTokens) reason = 'length'
      else {
        const reported = this.#sample(logits)
        if (reported === null) {
          reason = 'stop'
        } else {
          const piece = this.#stream.push({ bytes: this.#visibleBytes(reported.token), data: reported })
          if (piece !== null) yield this.#textEvent(piece)
          if (this.#stream.stopped) reason = 'stop'
          else logits = await this.#advance(reported.token)
        }
      }
    }
    const rest = this.#stream.finish()
    if (rest !== null) yield this.#textEvent(rest)
    this.#watch.lap('completionNs')
    yield this.#watch.done(reason, this.#options.request.tokens.length, this.#completionTokens)
  }

  async #readPrompt(): Promise<Float32Array | null> {
    const { scheduler, request, signal } = this.#options
    const { tokens } = request
    let logits: Float32Array | null = null
    for (let position = 0; position < tokens.length; position += scheduler.chunk) {
      const chunk = tokens.slice(position, position + scheduler.chunk)
      logits = await scheduler.step(this.#slot, chunk, position, 'last', signal)
      if (logits === null) return null
    }
    return logits
  }

  /** The next token, or null when it ends the sequence. */
  #sample(logits: Float32Array): Reported | null {
    const { request, endTokens, tokenizer } = this.#options
    // The sampler changes the logits, so what is reported of them is taken from a copy.
    const unmodified = request.logprobs === undefined ? null : logits.slice()
    const token = this.#sampler.sample(logits, this.#tokens)
    this.#completionTokens++
    if (request.ignoreEos !== true && endTokens.has(token)) return null
    const text = (id: number) => Buffer.from(tokenizer.bytes(id)).toString('utf8')
    const logprob = unmodified === null ? null : logprobs(unmodified, token, request.logprobs ?? 0, text)
    return { token, logprob }
  }

  /** Appends a token and computes what follows it, unless the sequence ends there anyway. */
  async #advance(token: number): Promise<Float32Array | null> {
    const { scheduler, signal } = this.#options
    const position = this.#tokens.push(token) - 1
    if (signal.aborted) return null
    if (this.#completionTokens >= this.#maxTokens) return NOTHING
    return scheduler.step(this.#slot, [token], position, 'last', signal)
  }

  #visibleBytes(token: number): Uint8Array {
    const { tokenizer } = this.#options
    return tokenizer.isSpecial(token) ? new Uint8Array() : tokenizer.bytes(token)
  }

  #textEvent({ text, data }: Piece<Reported>): GenerateEvent {
    const tokens = data.map(({ token }) => token)
    if (this.#options.request.logprobs === undefined) return { type: 'text', text, tokens }
    return { type: 'text', text, tokens, logprobs: data.flatMap(({ logprob }) => logprob ?? []) }
  }
}

/** Stands for logits that nobody will read. */
const NOTHING = new Float32Array()

type Phase = 'queueNs' | 'promptNs' | 'completionNs'

class StopWatch {
  readonly #times: Record<Phase, number> = { queueNs: 0, promptNs: 0, completionNs: 0 }
  #last = process.hrtime.bigint()

  /** Books the time since the last lap. */
  lap(phase: Phase): void {
    const now = process.hrtime.bigint()
    this.#times[phase] = Number(now - this.#last)
    this.#last = now
  }

  done(finishReason: FinishReason, promptTokens: number, completionTokens: number): GenerateEvent {
    const usage: GenerateUsage = { promptTokens, cachedTokens: 0, completionTokens, ...this.#times }
    return { type: 'done', finishReason, usage }
  }
}
