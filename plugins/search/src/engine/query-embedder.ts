import { resolve } from 'node:path'
import type { Embedder, InferenceEmbeddings, LoadedEmbedder, RemoteEmbeddings } from '@svc/contracts'
import { searchErrors } from '../errors.ts'

/** Vector of a text, with the name of the model that made it. */
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
  readonly remote: () => RemoteEmbeddings | undefined
  /** Whether a provider or the local model server may receive texts, if there is no folder. */
  readonly allowsRemote: () => boolean
}

/** A model, with a name that no other model has: vectors of different models must not be compared. */
interface NamedModel {
  readonly name: string
  readonly model: Embedder
}

/** Age from which the choice of a provider is made again. */
const REMOTE_FRESH_MS = 30_000
const MAX_RECENT = 16

/** Embedder of the model folder in the settings, which is loaded at the first use, or of a provider. */
export class ModelEmbedder implements TextEmbedder {
  readonly #parts: ModelEmbedderParts
  #loaded: { readonly folder: string; readonly model: Promise<LoadedEmbedder> } | null = null
  /** Several tiers need the vector of one query. */
  readonly #recent = new Map<string, EmbeddedText>()
  #remote: { readonly until: number; readonly model: Promise<NamedModel> } | null = null

  constructor(parts: ModelEmbedderParts) {
    this.#parts = parts
  }

  unavailable(): string | null {
    const { folder, models, remote, allowsRemote } = this.#parts
    if (folder() !== undefined) return models() === undefined ? 'the plugin inference-onnx is off' : null
    if (!allowsRemote()) return 'neither embedding_folder nor embedding_remote is set'
    return remote() === undefined ? 'the plugin providers is off' : null
  }

  async embed(text: string, signal: AbortSignal, role: 'query' | 'document' = 'query'): Promise<EmbeddedText> {
    const { model, name } = await this.#model()
    const key = JSON.stringify([name, role, text])
    const known = this.#recent.get(key)
    if (known !== undefined) return known
    const { values, dimensions } = await model.embed([text], { truncate: true, role, signal })
    const embedded = { model: name, vector: values.slice(0, dimensions) }
    this.#recent.set(key, embedded)
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= MAX_RECENT) break
      this.#recent.delete(oldest)
    }
    return embedded
  }

  /** Returns the vectors of documents, in order. Throws the errors of the model. */
  async embedAll(
    texts: readonly string[],
    signal: AbortSignal
  ): Promise<{ readonly model: string; readonly vectors: readonly Float32Array[] }> {
    const { model, name } = await this.#model()
    const { values, dimensions } = await model.embed(texts, { truncate: true, role: 'document', signal })
    return { model: name, vectors: texts.map((_, at) => values.slice(at * dimensions, (at + 1) * dimensions)) }
  }

  /** Name of the model: its digest, or provider and name. Throws the errors of the model. */
  async digest(): Promise<string> {
    return (await this.#model()).name
  }

  async close(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = null
    await loaded?.model.then(
      model => model.close(),
      () => {}
    )
  }

  #model(): Promise<NamedModel> {
    const folder = this.#parts.folder()
    return folder === undefined ? this.#remoteModel() : this.#localModel(folder)
  }

  async #localModel(folder: string): Promise<NamedModel> {
    const model = await this.#load(folder)
    if (model.info.kind === 'embedding') return { model, name: model.info.digest }
    throw searchErrors.create('SRH_TIER_INVALID', `${folder}: the model is a reranker, which makes no vectors`, {
      hint: 'set embedding_folder in [plugins.search] to the folder of an embedding model'
    })
  }

  #load(folder: string): Promise<LoadedEmbedder> {
    const models = this.#parts.models()
    if (models === undefined) throw this.#noModel()
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

  #remoteModel(): Promise<NamedModel> {
    if (this.#remote === null || this.#remote.until < performance.now()) {
      const opened = { until: performance.now() + REMOTE_FRESH_MS, model: this.#openRemote() }
      this.#remote = opened
      opened.model.catch(() => {
        if (this.#remote === opened) this.#remote = null
      })
    }
    return this.#remote.model
  }

  async #openRemote(): Promise<NamedModel> {
    const remote = this.#parts.allowsRemote() ? this.#parts.remote() : undefined
    if (remote === undefined) throw this.#noModel()
    const model = await remote.open()
    if (model !== null) return { model, name: `${model.provider}/${model.model}` }
    throw searchErrors.create('SRH_TIER_INVALID', 'no provider with a key computes vectors', {
      hint: 'set a key for Hugging Face, OpenAI or OpenRouter, or embedding_folder in [plugins.search]'
    })
  }

  #noModel(): Error {
    return searchErrors.create('SRH_TIER_INVALID', `no vector can be made: ${this.unavailable()}`)
  }
}
