import type {
  ChatCapabilities,
  ChatMessage,
  GenerateEvent,
  GenerateRequest,
  InferenceEngine,
  LoadedModel,
  LoadOptions,
  ModelInfo,
  RenderChatOptions,
  RenderTemplateOptions,
  ScoredToken,
  ScoreRequest
} from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { ToyMask } from './toy-constraint.ts'
import { echoModel } from './toy-model.ts'
import { logprobsOf, pick, random } from './toy-sampler.ts'
import { detokenize, END_OF_TEXT, IM_END, tokenize, VOCABULARY_SIZE } from './toy-tokenizer.ts'

export interface ToyOptions {
  readonly contextLength?: number
  readonly device?: string
  readonly format?: ModelInfo['format']
  /** Template that the model reports; rendering always uses ChatML. */
  readonly chatTemplate?: string
  readonly capabilities?: Partial<ChatCapabilities>
  /** Number of cached tokens to report for every prompt. */
  readonly cachedTokens?: number
  /** Called before every token; may wait or throw. `generated` counts from 0; `signal`: signal of the request. */
  beforeToken?(generated: number, signal: AbortSignal | undefined): void | Promise<void>
  /** Called before a load ends; may wait or throw. */
  beforeLoaded?(options: LoadOptions): void | Promise<void>
}

/** Complete, deterministic engine that runs {@link echoModel}. */
export class ToyEngine implements InferenceEngine {
  readonly name = 'toy 1.0.0'
  readonly models: ToyModel[] = []
  readonly #options: ToyOptions

  constructor(options: ToyOptions = {}) {
    this.#options = options
  }

  async devices() {
    return [{ id: 'cpu', description: 'toy' }]
  }

  async load(options: LoadOptions): Promise<ToyModel> {
    options.onProgress?.(0.5, 'reading weights')
    await this.#options.beforeLoaded?.(options)
    const model = new ToyModel(this.#options, options)
    this.models.push(model)
    return model
  }
}

export class ToyModel implements LoadedModel {
  readonly info: ModelInfo
  readonly chatCapabilities: ChatCapabilities
  /** Requests that were generated, and conversations that were rendered. */
  readonly requests: GenerateRequest[] = []
  readonly rendered: { readonly messages: readonly ChatMessage[]; readonly options: RenderChatOptions }[] = []
  /** Prompts whose tokens were scored. */
  readonly scored: (readonly number[])[] = []
  /** Templates that requests contained. */
  readonly templates: string[] = []
  /** Clients of the rendered templates of requests. */
  readonly templateClients: (string | undefined)[] = []
  /** Tokens generated so far, over all sequences. */
  generated = 0
  /** Finish reasons of the sequences. */
  readonly ended: string[] = []
  closed = false
  readonly #options: ToyOptions
  readonly #slots: number
  #active = 0
  readonly #waiting: (() => void)[] = []

  constructor(options: ToyOptions, load: Pick<LoadOptions, 'slots' | 'maxContext'> = {}) {
    this.#options = options
    this.#slots = load.slots === undefined || load.slots === 'auto' ? 1 : load.slots
    this.chatCapabilities = { tools: false, thinking: false, ...options.capabilities }
    this.info = {
      family: 'llama',
      parameters: 3_200_000,
      contextLength: Math.min(options.contextLength ?? 512, load.maxContext ?? Number.POSITIVE_INFINITY),
      vocabularySize: VOCABULARY_SIZE,
      precision: 'F32',
      quantization: 'none',
      format: options.format ?? 'safetensors',
      sizeBytes: 12_800_000,
      digest: 'ab'.repeat(32),
      device: options.device ?? 'cpu',
      adapter: { rank: 8, alpha: 16, targets: ['q_proj'] },
      chatTemplate: options.chatTemplate ?? null,
      endTokens: [IM_END, END_OF_TEXT]
    }
  }

  /** Renders ChatML. Opens a thought in the answer if the request or the name of the template enables thoughts. */
  renderChat(messages: readonly ChatMessage[], options: RenderChatOptions = {}): string {
    this.rendered.push({ messages, options })
    if (messages.some(({ role }, at) => role === 'system' && at > 0)) throw new Error('system message must come first')
    const turns = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`)
    const thought = options.thinking === true ? '<think>\n' : ''
    return `${turns.join('')}<|im_start|>assistant\n${thought}`
  }

  async renderTemplate(template: string, messages: readonly ChatMessage[], options: RenderTemplateOptions = {}) {
    this.templates.push(template)
    this.templateClients.push(options.client)
    return this.renderChat(messages, options)
  }

  tokenize(text: string, options: { readonly special?: boolean } = {}): number[] {
    return tokenize(text, options.special ?? false)
  }

  detokenize(tokens: readonly number[]): string {
    return detokenize(tokens)
  }

  tokenBytes(token: number): Uint8Array {
    return token < 256 ? Uint8Array.of(token) : Buffer.from(detokenize([token]))
  }

  async logits(tokens: readonly number[]): Promise<Float32Array[]> {
    return tokens.map((_, at) => echoModel(tokens.slice(0, at + 1)).next([]))
  }

  async score({ tokens, top = 0, signal }: ScoreRequest): Promise<readonly ScoredToken[]> {
    await this.#options.beforeToken?.(0, signal)
    signal?.throwIfAborted()
    this.scored.push(tokens)
    const rows = await this.logits(tokens)
    return tokens.slice(1).map((token, at) => {
      const row = rows[at] as Float32Array
      const rank = 1 + row.filter(logit => logit > (row[token] as number)).length
      return { ...logprobsOf(row, token, top), rank }
    })
  }

  capacity() {
    return { slots: this.#slots, active: this.#active, waiting: this.#waiting.length }
  }

  statistics() {
    return {
      promptTokens: 0,
      cachedPromptTokens: 0,
      completionTokens: this.generated,
      decodeRuns: this.generated,
      decodedSequences: this.generated,
      draftedTokens: 0,
      acceptedTokens: 0,
      cachePositions: this.#slots * this.info.contextLength,
      cachePositionsUsed: 0,
      weightBytes: this.info.sizeBytes,
      cacheBytes: 0
    }
  }

  async close(): Promise<void> {
    this.closed = true
  }

  async *generate(request: GenerateRequest): AsyncGenerator<GenerateEvent, void> {
    const { tokens, signal, stop = [], logprobs, sampling = {} } = request
    this.requests.push(request)
    const mask = request.constraint === undefined ? null : new ToyMask(request.constraint)
    if (this.closed) throw new SvcError('INF_MODEL_CLOSED', 'closed', { status: 503 })
    const room = this.info.contextLength - tokens.length
    if (room <= 0) {
      throw new SvcError('INF_CONTEXT_EXCEEDED', 'too long', {
        status: 400,
        data: { promptTokens: tokens.length, contextLength: this.info.contextLength }
      })
    }
    const queuedAt = process.hrtime.bigint()
    if (!(await this.#enter(signal, request.maxWaiting))) {
      const usage = {
        promptTokens: tokens.length,
        cachedTokens: 0,
        completionTokens: 0,
        queueNs: 0,
        promptNs: 0,
        completionNs: 0
      }
      yield { type: 'done', finishReason: 'cancelled', usage }
      return
    }
    const startedAt = process.hrtime.bigint()
    const model = echoModel(tokens)
    const draw = random(sampling.seed ?? Math.floor(Math.random() * 2 ** 32))
    const generated: number[] = []
    const decoder = new TextDecoder()
    let finishReason: 'stop' | 'length' | 'cancelled' = 'length'
    let outcome = 'abandoned'
    let stopped = false
    let stopString: string | undefined
    let held = ''
    let pending: { tokens: number[]; logprobs: ReturnType<typeof logprobsOf>[] } = { tokens: [], logprobs: [] }
    const take = (text: string): GenerateEvent => {
      const { tokens, logprobs: entries } = pending
      pending = { tokens: [], logprobs: [] }
      return { type: 'text', text, tokens, ...(logprobs === undefined ? {} : { logprobs: entries }) }
    }
    try {
      while (generated.length < Math.min(request.maxTokens ?? room, room)) {
        await this.#options.beforeToken?.(generated.length, signal)
        // Real engines compute off the event loop; without this wait, no other task would run.
        await new Promise(setImmediate)
        if (signal?.aborted || this.closed) {
          finishReason = 'cancelled'
          break
        }
        const logits = model.next(generated)
        const unmodified = logits.slice()
        mask?.apply(logits)
        const token = pick(logits, generated, sampling, draw)
        generated.push(token)
        mask?.advance(token)
        this.generated += 1
        if (!request.ignoreEos && (token === IM_END || token === END_OF_TEXT)) {
          finishReason = 'stop'
          break
        }
        pending.tokens.push(token)
        if (logprobs !== undefined) pending.logprobs.push(logprobsOf(unmodified, token, logprobs))
        held += token < 256 ? decoder.decode(Uint8Array.of(token), { stream: true }) : detokenize([token])
        const cut = Math.min(...stop.map(text => held.indexOf(text)).filter(at => at >= 0))
        if (cut < Number.POSITIVE_INFINITY) {
          stopString = stop.find(text => held.startsWith(text, cut))
          held = held.slice(0, cut)
          finishReason = 'stop'
          stopped = true
          break
        }
        const safe = held.length - heldBack(held, stop)
        if (safe > 0) {
          yield take(held.slice(0, safe))
          held = held.slice(safe)
        }
      }
      if (!stopped) held += decoder.decode()
      if (held !== '') yield take(held)
      const endedAt = process.hrtime.bigint()
      const usage = {
        promptTokens: tokens.length,
        cachedTokens: this.#options.cachedTokens ?? 0,
        completionTokens: generated.length,
        queueNs: Number(startedAt - queuedAt),
        promptNs: 1000,
        completionNs: Number(endedAt - startedAt)
      }
      outcome = finishReason
      yield { type: 'done', finishReason, ...(stopString === undefined ? {} : { stopString }), usage }
    } finally {
      this.ended.push(outcome)
      this.#leave()
    }
  }

  /** Waits for a slot. Resolves to false if the request was aborted. */
  async #enter(signal: AbortSignal | undefined, maxWaiting = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (this.#active < this.#slots) {
      this.#active += 1
      return true
    }
    if (this.#waiting.length >= maxWaiting) throw new SvcError('INF_BUSY', 'busy', { status: 503 })
    return new Promise(resolve => {
      const admit = () => resolve(true)
      this.#waiting.push(admit)
      signal?.addEventListener('abort', () => {
        const at = this.#waiting.indexOf(admit)
        if (at >= 0) this.#waiting.splice(at, 1)
        resolve(false)
      })
    })
  }

  /** Passes the slot to the next waiting request. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#active -= 1
    else next()
  }
}

/** Returns the number of trailing characters that could begin a stop string. */
function heldBack(text: string, stop: readonly string[]): number {
  let longest = 0
  for (const string of stop) {
    for (let length = Math.min(string.length - 1, text.length); length > longest; length--) {
      if (string.startsWith(text.slice(-length))) longest = length
    }
  }
  return longest
}
