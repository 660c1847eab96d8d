import type { EmbedderInfo, EmbedOptions, LoadedEmbedder, RankOptions, Scores, Vectors } from '@svc/contracts'
import { closedError } from '../adapters/hot-adapters.ts'
import { inferenceErrors } from '../errors.ts'
import { checkTokens } from '../generate-request.ts'
import type { EncodedText, EncoderTokens, Frame } from './encoder-tokens.ts'
import { normalise } from './pooling.ts'

/** Computes rows of texts: vectors, or one logit for each pair of texts. */
export interface TextModel {
  compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]>
  close(): Promise<void>
}

/** Texts that the model puts before others, by their purpose. */
export interface RolePrompts {
  readonly query: string
  readonly document: string
  /** Prompt of texts without a purpose. */
  readonly none: string
}

export const NO_PROMPTS: RolePrompts = { query: '', document: '', none: '' }

export interface OnnxEmbedderOptions {
  readonly info: EmbedderInfo
  readonly tokens: EncoderTokens
  /** Tokens around each text. */
  readonly frame: Frame
  readonly model: TextModel
  readonly prompts: RolePrompts
  readonly normalise: boolean
  /** Token that is dropped from texts; null to keep all. */
  readonly dropped: number | null
  onClosed(): void
}

/** Loaded model that computes vectors, or scores of documents. */
export class OnnxEmbedder implements LoadedEmbedder {
  readonly info: EmbedderInfo
  readonly #options: OnnxEmbedderOptions
  #closed: Promise<void> | undefined

  constructor(options: OnnxEmbedderOptions) {
    this.info = options.info
    this.#options = options
  }

  async embed(inputs: readonly (string | readonly number[])[], options: EmbedOptions = {}): Promise<Vectors> {
    this.#requireOpen()
    this.#requireKind('embedding')
    const { signal } = options
    signal?.throwIfAborted()
    const dimensions = this.#dimensions(options.dimensions)
    const texts: EncodedText[] = []
    for (const [index, input] of inputs.entries()) {
      texts.push(await this.#encode(input, index, options))
    }
    const rows = await this.#options.model.compute(texts, signal)
    const values = new Float32Array(rows.length * dimensions)
    for (const [index, row] of rows.entries()) {
      const vector = values.subarray(index * dimensions, (index + 1) * dimensions)
      vector.set(row.subarray(0, dimensions))
      if (this.#options.normalise || options.dimensions !== undefined) normalise(vector)
      checkFinite(vector, index)
    }
    return { values, count: rows.length, dimensions, tokens: countTokens(texts) }
  }

  async rank(query: string, documents: readonly string[], options: RankOptions = {}): Promise<Scores> {
    this.#requireOpen()
    this.#requireKind('reranker')
    const { signal } = options
    signal?.throwIfAborted()
    const { tokens, model } = this.#options
    const { contextLength } = this.info
    const first = await tokens.encode(query, contextLength, signal)
    const texts: EncodedText[] = []
    for (const [index, document] of documents.entries()) {
      const second = await tokens.encode(document, contextLength, signal)
      texts.push(this.#pair(first, second, index, options.truncate === true))
    }
    const rows = await model.compute(texts, signal)
    const scores = Float32Array.from(rows, ([logit]) => 1 / (1 + Math.exp(-(logit as number))))
    for (const [index, score] of scores.entries()) checkFinite(Float32Array.of(score), index)
    return { scores, tokens: countTokens(texts) }
  }

  close(): Promise<void> {
    this.#closed ??= this.#options.model.close().finally(() => this.#options.onClosed())
    return this.#closed
  }

  async #encode(input: string | readonly number[], index: number, options: EmbedOptions): Promise<EncodedText> {
    const { contextLength, vocabularySize } = this.info
    if (typeof input !== 'string') {
      checkTokens(input, vocabularySize)
      if (input.length === 0) throw emptyTokens(index)
      return single(this.#fit(input, contextLength, index, options.truncate === true))
    }
    const { tokens, frame, prompts, dropped } = this.#options
    const { before, after } = frame
    const room = contextLength - before.length - after.length
    const prompt = prompts[options.role ?? 'none']
    const encoded = await tokens.encode(prompt + input, room, options.signal, dropped)
    return single([...before, ...this.#fit(encoded, room, index, options.truncate === true), ...after])
  }

  #fit(tokens: readonly number[], room: number, index: number, truncate: boolean): readonly number[] {
    if (tokens.length <= room) return tokens
    if (!truncate) throw this.#tooLong(index)
    return tokens.slice(0, room)
  }

  /** Joins a pair; a pair that is too long loses tokens of its longer text first. */
  #pair(first: readonly number[], second: readonly number[], index: number, truncate: boolean): EncodedText {
    const template = this.#options.tokens.pair
    if (template === null) throw new Error('a reranker without a template of pairs was loaded')
    const room = this.info.contextLength - template.added
    const surplus = first.length + second.length - room
    if (surplus <= 0) return template.join(first, second)
    if (!truncate) throw this.#tooLong(index)
    const shorter = Math.min(first.length, second.length)
    const share = Math.min(shorter, Math.floor(room / 2))
    const [a, b] = first.length > second.length ? [room - share, share] : [share, room - share]
    return template.join(first.slice(0, a), second.slice(0, b))
  }

  #dimensions(wanted: number | undefined): number {
    const { dimensions } = this.info
    if (wanted === undefined) return dimensions
    if (Number.isSafeInteger(wanted) && wanted > 0 && wanted <= dimensions) return wanted
    throw inferenceErrors.create(
      'INF_OPTION_INVALID',
      `dimensions is ${wanted}; the model's vectors have 1 to ${dimensions}`,
      { at: { path: 'dimensions' }, data: { name: 'dimensions', value: wanted, minimum: 1, maximum: dimensions } }
    )
  }

  #tooLong(index: number): Error {
    const { contextLength } = this.info
    return inferenceErrors.create(
      'INF_CONTEXT_EXCEEDED',
      `Text ${index} has more tokens than the model reads: at most ${contextLength}`,
      { at: { path: `${index}` }, data: { index, contextLength }, hint: 'Split the text, or request truncation.' }
    )
  }

  #requireKind(kind: EmbedderInfo['kind']): void {
    if (this.info.kind === kind) return
    const does = this.info.kind === 'reranker' ? 'scores pairs of texts' : 'computes vectors'
    throw inferenceErrors.create('INF_OPTION_INVALID', `The model ${does}; it is no ${kind} model`, {
      data: { kind: this.info.kind },
      hint: `Load a folder with ${kind === 'reranker' ? 'a reranker' : 'an embedding model'}.`
    })
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw closedError()
  }
}

function single(tokens: readonly number[]): EncodedText {
  return { tokens, types: [] }
}

function countTokens(texts: readonly EncodedText[]): number {
  return texts.reduce((sum, { tokens }) => sum + tokens.length, 0)
}

function emptyTokens(index: number): Error {
  return inferenceErrors.create('INF_OPTION_INVALID', `Text ${index} is an empty list of token ids`, {
    at: { path: `${index}` },
    data: { index }
  })
}

function checkFinite(vector: Float32Array, index: number): void {
  const at = vector.findIndex(value => !Number.isFinite(value))
  if (at === -1) return
  throw inferenceErrors.create('INF_NOT_FINITE', `The model computed ${vector[at]} for text ${index}`, {
    data: { index, component: at },
    hint: 'Check the weights: an export to half precision may have overflowed.'
  })
}
