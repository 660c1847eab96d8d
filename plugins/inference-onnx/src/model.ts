import type {
  ChatCapabilities,
  ChatMessage,
  GenerateEvent,
  GenerateRequest,
  LoadedModel,
  ModelAdapters,
  ModelCapacity,
  ModelInfo,
  ModelStatistics,
  RenderChatOptions,
  RenderTemplateOptions,
  ScoredToken,
  ScoreRequest
} from '@svc/contracts'
import { type AdapterLease, adapterUnknown, closedError, type HotAdapters, LOADED } from './adapters/hot-adapters.ts'
import type { Scheduler } from './batching/scheduler.ts'
import type { ChatTemplate } from './chat-template.ts'
import { OutputConstraints } from './constraint/output-constraints.ts'
import { Evaluation, rowsOf } from './evaluation.ts'
import { checkCount, checkRequest, checkTokens, contextExceeded } from './generate-request.ts'
import { generate } from './generation.ts'
import { scoredTogether, scorer } from './scoring.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface OnnxModelOptions {
  readonly info: ModelInfo
  readonly tokenizer: Tokenizer
  readonly template: ChatTemplate
  readonly endTokens: ReadonlySet<number>
  readonly scheduler: Scheduler
  /** Maximum waiting requests, for requests that set none. */
  readonly maxWaiting: number
  /** Null for an exported graph, which does not support adapters. */
  readonly adapters: HotAdapters | null
  onClosed(): Promise<void>
}

/** Loaded decoder that generates text. */
export class OnnxModel implements LoadedModel {
  readonly info: ModelInfo
  readonly adapters?: ModelAdapters
  readonly #options: OnnxModelOptions
  readonly #constraints: OutputConstraints
  /** Running operations. Each has a separate controller, because listeners on a long-lived one would leak. */
  readonly #running = new Set<AbortController>()
  #closed: Promise<void> | undefined

  constructor(options: OnnxModelOptions) {
    this.info = options.info
    this.#options = options
    if (options.adapters !== null) this.adapters = options.adapters
    const { tokenizer, endTokens } = options
    this.#constraints = new OutputConstraints({
      size: options.info.vocabularySize,
      bytes: token => tokenizer.bytes(token),
      isSpecial: token => tokenizer.isSpecial(token),
      endTokens
    })
  }

  get chatCapabilities(): ChatCapabilities {
    return this.#options.template.capabilities
  }

  renderChat(messages: readonly ChatMessage[], options?: RenderChatOptions): string {
    return this.#options.template.render(messages, options)
  }

  renderTemplate(template: string, messages: readonly ChatMessage[], options?: RenderTemplateOptions): Promise<string> {
    return this.#options.template.renderTemplate(template, messages, options)
  }

  tokenize(text: string, options: { readonly special?: boolean; readonly begin?: boolean } = {}): number[] {
    const { tokenizer } = this.#options
    const tokens = tokenizer.encode(text, options.special ?? false)
    const begun = tokenizer.beginning.every((token, at) => tokens[at] === token)
    return options.begin === true && !begun ? [...tokenizer.beginning, ...tokens] : tokens
  }

  detokenize(tokens: readonly number[]): string {
    return this.#options.tokenizer.decode(tokens)
  }

  tokenBytes(token: number): Uint8Array {
    checkTokens([token], this.info.vocabularySize)
    return this.#options.tokenizer.bytes(token)
  }

  async *generate(request: GenerateRequest): AsyncGenerator<GenerateEvent, void, undefined> {
    this.#requireOpen()
    const { vocabularySize, contextLength } = this.info
    checkRequest(request, vocabularySize, contextLength)
    const { constraint, ignoreEos = false } = request
    const matcher =
      constraint === undefined
        ? null
        : await this.#constraints.matcher(constraint, { ignoreEnd: ignoreEos, client: request.client })
    this.#requireOpen()
    const controller = new AbortController()
    const abort = () => controller.abort()
    if (request.signal?.aborted) abort()
    request.signal?.addEventListener('abort', abort)
    this.#running.add(controller)
    let lease: AdapterLease | undefined
    try {
      if (request.adapter === null) await this.#openBaseModel()
      lease = this.#lease(request.adapter)
      const { weights } = lease
      yield* generate({ ...this.#options, request, contextLength, weights, matcher, abort: controller })
    } finally {
      lease?.release()
      this.#running.delete(controller)
      request.signal?.removeEventListener('abort', abort)
    }
  }

  capacity(): ModelCapacity {
    const { slots, active, waiting } = this.#options.scheduler
    return { slots, active, waiting }
  }

  statistics(): ModelStatistics {
    const { scheduler, adapters } = this.#options
    return { ...scheduler.statistics(), weightBytes: this.info.sizeBytes + (adapters?.bytes ?? 0) }
  }

  async logits(tokens: readonly number[], options: { readonly adapter?: string | null } = {}): Promise<Float32Array[]> {
    this.#requireOpen()
    const { vocabularySize, contextLength } = this.info
    checkTokens(tokens, vocabularySize)
    if (tokens.length > contextLength) throw contextExceeded(tokens.length, contextLength)
    if (options.adapter === null) await this.#openBaseModel()
    const lease = this.#lease(options.adapter)
    const controller = new AbortController()
    this.#running.add(controller)
    try {
      const evaluation = new Evaluation(vocabularySize, {
        tokens,
        weights: lease.weights,
        maxWaiting: this.#options.maxWaiting,
        signal: controller.signal,
        read: matrix => rowsOf(matrix, vocabularySize)
      })
      this.#options.scheduler.submit(evaluation)
      const rows = await evaluation.result()
      if (rows === null) throw closedError()
      return rows
    } finally {
      lease.release()
      this.#running.delete(controller)
    }
  }

  async score(request: ScoreRequest): Promise<readonly ScoredToken[]> {
    this.#requireOpen()
    const { vocabularySize, contextLength } = this.info
    const { tokens, signal, adapter } = request
    checkTokens(tokens, vocabularySize)
    checkCount('top', request.top)
    if (tokens.length > contextLength) throw contextExceeded(tokens.length, contextLength)
    signal?.throwIfAborted()
    if (tokens.length < 2) return []
    const controller = new AbortController()
    const abort = () => controller.abort()
    signal?.addEventListener('abort', abort)
    this.#running.add(controller)
    let lease: AdapterLease | undefined
    try {
      if (adapter === null) await this.#openBaseModel()
      lease = this.#lease(adapter)
      const { tokenizer, maxWaiting, scheduler } = this.#options
      const { weights } = lease
      const scoring = new Evaluation(vocabularySize, {
        tokens,
        weights,
        maxWaiting: request.maxWaiting ?? maxWaiting,
        signal: controller.signal,
        client: request.client,
        maxChunk: scoredTogether(vocabularySize),
        read: scorer(request, tokenizer, vocabularySize)
      })
      scheduler.submit(scoring)
      const scores = await scoring.result()
      if (scores !== null) return scores
      signal?.throwIfAborted()
      throw closedError()
    } finally {
      lease?.release()
      this.#running.delete(controller)
      signal?.removeEventListener('abort', abort)
    }
  }

  close(): Promise<void> {
    for (const controller of this.#running) controller.abort()
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { scheduler, adapters, onClosed } = this.#options
    try {
      await this.#constraints.close()
      await scheduler.close()
      await adapters?.close()
    } finally {
      await onClosed()
    }
  }

  async #openBaseModel(): Promise<void> {
    await this.#options.adapters?.openBaseModel()
    this.#requireOpen()
  }

  #lease(adapter: string | null | undefined): AdapterLease {
    const { adapters } = this.#options
    if (adapters !== null) return adapters.lease(adapter)
    if (typeof adapter === 'string') throw adapterUnknown(adapter, [])
    return LOADED
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw closedError()
  }
}
