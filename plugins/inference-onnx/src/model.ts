import type {
  ChatAbilities,
  ChatMessage,
  GenerateEvent,
  GenerateRequest,
  LoadedModel,
  ModelCapacity,
  ModelInfo,
  ModelStatistics,
  RenderChatOptions
} from '@svc/contracts'
import type { Scheduler } from './batching/scheduler.ts'
import type { ChatTemplate } from './chat-template.ts'
import { OutputConstraints } from './constraint/output-constraints.ts'
import { inferenceErrors } from './errors.ts'
import { Evaluation } from './evaluation.ts'
import { checkRequest, checkTokens, contextExceeded } from './generate-request.ts'
import { generate } from './generation.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface OnnxModelOptions {
  readonly info: ModelInfo
  readonly tokenizer: Tokenizer
  readonly template: ChatTemplate
  readonly endTokens: ReadonlySet<number>
  readonly scheduler: Scheduler
  onClosed(): Promise<void>
}

/** A decoder that is ready to generate. */
export class OnnxModel implements LoadedModel {
  readonly info: ModelInfo
  readonly #options: OnnxModelOptions
  readonly #constraints: OutputConstraints
  readonly #closing = new AbortController()
  /** Sequences that were begun and have not ended. */
  readonly #running = new Set<AbortController>()
  #closed: Promise<void> | undefined

  constructor(options: OnnxModelOptions) {
    this.info = options.info
    this.#options = options
    const { tokenizer, endTokens } = options
    this.#constraints = new OutputConstraints({
      size: options.info.vocabularySize,
      bytes: token => tokenizer.bytes(token),
      isSpecial: token => tokenizer.isSpecial(token),
      endTokens
    })
  }

  get chatAbilities(): ChatAbilities {
    return this.#options.template.abilities
  }

  renderChat(messages: readonly ChatMessage[], options?: RenderChatOptions): string {
    return this.#options.template.render(messages, options)
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

  async *generate(request: GenerateRequest): AsyncGenerator<GenerateEvent, void, undefined> {
    this.#requireOpen()
    const { vocabularySize, contextLength } = this.info
    checkRequest(request, vocabularySize, contextLength)
    const { constraint, ignoreEos = false } = request
    const matcher =
      constraint === undefined ? null : await this.#constraints.matcher(constraint, { ignoreEnd: ignoreEos })
    this.#requireOpen()
    // Not AbortSignal.any with a signal of the model: what is tied to one that lives so long stays there for good.
    const controller = new AbortController()
    const abort = () => controller.abort()
    if (request.signal?.aborted) abort()
    request.signal?.addEventListener('abort', abort)
    this.#running.add(controller)
    try {
      yield* generate({ ...this.#options, request, contextLength, matcher, abort: controller })
    } finally {
      this.#running.delete(controller)
      request.signal?.removeEventListener('abort', abort)
    }
  }

  capacity(): ModelCapacity {
    const { slots, active, waiting } = this.#options.scheduler
    return { slots, active, waiting }
  }

  statistics(): ModelStatistics {
    return { ...this.#options.scheduler.statistics(), weightBytes: this.info.sizeBytes }
  }

  async logits(tokens: readonly number[]): Promise<Float32Array[]> {
    this.#requireOpen()
    const { vocabularySize, contextLength } = this.info
    checkTokens(tokens, vocabularySize)
    if (tokens.length > contextLength) throw contextExceeded(tokens.length, contextLength)
    const evaluation = new Evaluation(tokens, vocabularySize, this.#closing.signal)
    this.#options.scheduler.submit(evaluation)
    const rows = await evaluation.result()
    if (rows === null) throw this.#closedError()
    return rows
  }

  close(): Promise<void> {
    this.#closing.abort()
    for (const controller of this.#running) controller.abort()
    this.#closed ??= this.#options.scheduler.close().finally(() => this.#options.onClosed())
    return this.#closed
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw this.#closedError()
  }

  #closedError() {
    return inferenceErrors.create('INF_MODEL_CLOSED', 'The model was closed', { hint: 'Load it again.' })
  }
}
