import { resolve } from 'node:path'
import type { InferenceEmbeddings, LoadedEmbedder } from '@svc/contracts'
import { searchErrors } from '../errors.ts'

/** Vector of a text, with the digest of the model that made it. */
export interface EmbeddedText {
  readonly model: string
  readonly vector: Float32Array
}

export interface TextEmbedder {
  /** Returns why no vector can be made; null if one can. */
  unavailable(): string | null
  /** Returns the vector of a text. Throws the errors of the model. */
  embed(text: string, signal: AbortSignal, role?: 'query' | 'document'): Promise<EmbeddedText>
}

export interface ModelEmbedderParts {
  readonly projectRoot: string
  readonly models: () => InferenceEmbeddings | undefined
  /** Folder of the model, relative to the project; undefined: none. */
  readonly folder: () => string | undefined
}

/** Embedder of the model folder in the settings, which is loaded at the first use. */
export class ModelEmbedder implements TextEmbedder {
  readonly #parts: ModelEmbedderParts
  #loaded: { readonly folder: string; readonly model: Promise<LoadedEmbedder> } | null = null

  constructor(parts: ModelEmbedderParts) {
    this.#parts = parts
  }

  unavailable(): string | null {
    if (this.#parts.folder() === undefined) return 'embedding_folder is not set'
    return this.#parts.models() === undefined ? 'the plugin inference-onnx is off' : null
  }

  async embed(text: string, signal: AbortSignal, role: 'query' | 'document' = 'query'): Promise<EmbeddedText> {
    const model = await this.#embeddingModel()
    const { values, dimensions } = await model.embed([text], { truncate: true, role, signal })
    return { model: model.info.digest, vector: values.slice(0, dimensions) }
  }

  /** Returns the vectors of documents, in order. Throws the errors of the model. */
  async embedAll(
    texts: readonly string[],
    signal: AbortSignal
  ): Promise<{ readonly model: string; readonly vectors: readonly Float32Array[] }> {
    const model = await this.#embeddingModel()
    const { values, dimensions } = await model.embed(texts, { truncate: true, role: 'document', signal })
    return {
      model: model.info.digest,
      vectors: texts.map((_, at) => values.slice(at * dimensions, (at + 1) * dimensions))
    }
  }

  /** Digest of the model. Throws the errors of the model. */
  async digest(): Promise<string> {
    return (await this.#embeddingModel()).info.digest
  }

  async close(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = null
    await loaded?.model.then(
      model => model.close(),
      () => {}
    )
  }

  async #embeddingModel(): Promise<LoadedEmbedder> {
    const model = await this.#model()
    if (model.info.kind !== 'embedding')
      throw searchErrors.create(
        'SRH_TIER_INVALID',
        'the model in embedding_folder is a reranker, which makes no vectors',
        {
          hint: 'set embedding_folder in [plugins.search] to the folder of an embedding model'
        }
      )
    return model
  }

  #model(): Promise<LoadedEmbedder> {
    const [folder, models] = [this.#parts.folder(), this.#parts.models()]
    if (folder === undefined || models === undefined)
      throw searchErrors.create('SRH_TIER_INVALID', `no vector can be made: ${this.unavailable()}`)
    if (this.#loaded?.folder === folder) return this.#loaded.model
    void this.close()
    const model = models.load({ directory: resolve(this.#parts.projectRoot, folder) })
    const loaded = { folder, model }
    this.#loaded = loaded
    model.catch(() => {
      if (this.#loaded === loaded) this.#loaded = null
    })
    return model
  }
}
