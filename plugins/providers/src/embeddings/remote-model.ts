import { type EmbedOptions, inferenceErrors, type RemoteEmbedder, type Vectors } from '@svc/contracts'
import { withTimeout } from '@svc/plugin-sdk'
import { type EmbeddingAnswer, type EmbeddingTarget, requestEmbeddings } from './request.ts'

/** Maximum texts and characters of one request. */
const MAX_TEXTS = 96
const MAX_CHARACTERS = 200_000

export interface RemoteModelOptions {
  readonly provider: string
  readonly target: EmbeddingTarget
  readonly timeoutMs: number
  /** Returns the error of this service for an error of a request. */
  explain(error: unknown): unknown
  /** Called after each request, to count its costs. */
  answered(answer: EmbeddingAnswer): void
}

/** Embedding model of one provider. */
export class RemoteModelEmbedder implements RemoteEmbedder {
  readonly provider: string
  readonly model: string
  readonly #options: RemoteModelOptions

  constructor(options: RemoteModelOptions) {
    this.#options = options
    this.provider = options.provider
    this.model = options.target.model
  }

  async embed(inputs: readonly (string | readonly number[])[], options: EmbedOptions = {}): Promise<Vectors> {
    const { signal, truncate = false } = options
    const texts = inputs.filter(input => typeof input === 'string')
    if (texts.length < inputs.length) throw this.#refuse('it takes texts, no token ids')
    const rows: (readonly number[])[] = []
    let tokens = 0
    for (const part of parts(texts)) {
      const answer = await this.#request(part, truncate, signal)
      rows.push(...answer.rows)
      tokens += answer.tokens
    }
    return { ...this.#vectors(rows, options.dimensions), tokens }
  }

  async #request(texts: readonly string[], truncate: boolean, signal?: AbortSignal): Promise<EmbeddingAnswer> {
    const { target, timeoutMs, explain, answered } = this.#options
    signal?.throwIfAborted()
    try {
      const work = (stop: AbortSignal) => requestEmbeddings(target, texts, truncate, stop)
      const answer = await withTimeout(timeoutMs, work, signal === undefined ? {} : { signal })
      answered(answer)
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      throw explain(error)
    }
  }

  #vectors(rows: readonly (readonly number[])[], wanted: number | undefined): Omit<Vectors, 'tokens'> {
    const size = rows[0]?.length ?? 0
    const dimensions = wanted ?? size
    const other = rows.find(row => row.length !== size)
    if (other !== undefined) throw this.#refuse(`its vectors have ${size} and ${other.length} components`)
    if (rows.length > 0 && (!Number.isSafeInteger(dimensions) || dimensions < 1 || dimensions > size)) {
      throw this.#refuse(`dimensions is ${dimensions}; its vectors have 1 to ${size}`)
    }
    const values = new Float32Array(rows.length * dimensions)
    for (const [index, row] of rows.entries()) {
      const kept = row.slice(0, dimensions)
      const length = wanted === undefined ? 1 : Math.hypot(...kept) || 1
      values.set(
        kept.map(value => value / length),
        index * dimensions
      )
    }
    return { values, count: rows.length, dimensions }
  }

  #refuse(reason: string): Error {
    const { provider, model } = this
    return inferenceErrors.create('ICL_REFUSED', `${provider} (model ${model}) cannot embed: ${reason}`, {
      data: { provider, model }
    })
  }
}

/** Divides texts into requests. */
function* parts(texts: readonly string[]): Generator<readonly string[], void> {
  let part: string[] = []
  let characters = 0
  for (const text of texts) {
    if (part.length > 0 && (part.length === MAX_TEXTS || characters + text.length > MAX_CHARACTERS)) {
      yield part
      part = []
      characters = 0
    }
    part.push(text)
    characters += text.length
  }
  if (part.length > 0) yield part
}
