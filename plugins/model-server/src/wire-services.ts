import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '@svc/plugin-sdk'
import type { Completions } from './completions.ts'
import type { WrittenDefaults } from './defaults/written-defaults.ts'
import type { ServedEmbedder } from './embeddings/served.ts'
import type { Grammars } from './grammars.ts'
import type { ModelUse } from './kept-weights.ts'
import type { PullEvent } from './pull/progress.ts'
import type { RequestTaps } from './request-taps.ts'
import type { ResponseStore } from './responses/response-store.ts'
import type { ServedModel, ServedVariant } from './served-model.ts'
import type { UnknownModels } from './unknown-models.ts'

/** Weights of the served model, as requests use them. */
export interface ServedWeights {
  /**
   * Loads the model if necessary, and keeps it until the signal is aborted. `keepMs`: idle time after that.
   * Throws `MSV_MODEL_FAILED`, or the reason of the signal.
   */
  use(signal: AbortSignal, keepMs?: number): Promise<ModelUse>
  /** Unloads the model once it is no longer in use. */
  unload(): Promise<void>
  /** Time of the unload; null for never. */
  readonly expiresAt: Date | null
}

/** A model, with what is needed to answer a request with it. */
export interface ModelChoice {
  readonly served: ServedModel
  readonly weights: ServedWeights
  readonly completions: Completions
}

export interface ChosenModel extends ModelChoice {
  /** Nanoseconds that the request waited for the first load of the model. */
  readonly loadNs: number
}

/** Models that requests can name. */
export interface ModelChoices {
  /** The model that requests without a name use. */
  readonly primary: ModelChoice
  /** True for the name of a model, known without opening it. */
  has(name: string): boolean
  /** Returns all models, the primary one first. */
  slots(): Promise<readonly ModelChoice[]>
  /** Returns the model that a request names, without loading it. Throws `MSV_MODEL_UNKNOWN`. */
  slot(requested: string | undefined): Promise<ModelChoice>
  /**
   * Returns the model that a request names. Loads it if its properties are not known yet, and keeps it until the signal
   * is aborted. Throws `MSV_MODEL_UNKNOWN`, `MSV_MODEL_FAILED`, `MSV_MEMORY`, or the reason of the signal.
   */
  choose(requested: string | undefined, signal: AbortSignal): Promise<ChosenModel>
}

/** Store of models that the Ollama API manages. */
export interface ModelStore {
  /** Pulls a model of Hugging Face or the Ollama registry. Throws `MSV_PULL_*` and like {@link ModelStore.copy}. */
  pull(name: string, signal: AbortSignal, onEvent: (event: PullEvent) => void): Promise<unknown>
  /** Gives a model another name. Throws `MSV_MODEL_UNKNOWN`, `MSV_MODEL_NAME`, `MSV_MODEL_EXISTS`, `MSV_CATALOGUE`. */
  copy(name: string, to: string): Promise<void>
  /**
   * Gives a model another name with other defaults, or changes those of a model that was created. Throws like
   * {@link ModelStore.copy}.
   */
  create(name: string, from: string, defaults: WrittenDefaults): Promise<void>
  /** Throws `MSV_MODEL_UNKNOWN`, `MSV_MODEL_CONFIGURED`, `MSV_CATALOGUE`. */
  remove(name: string): Promise<unknown>
}

/** Services that the routes of every API use. */
export interface WireServices {
  readonly models: ModelChoices
  readonly store: ModelStore
  readonly grammars: Grammars
  /** Returns the store of responses. */
  responses(): ResponseStore
  /** Null if no embedding model is configured. */
  readonly embedder: ServedEmbedder | null
  /** Null if no reranker is configured. */
  readonly reranker: ServedEmbedder | null
  readonly log: Logger
  /** Returns the model hooks for a request. They are empty if its headers show that the client has triggered them. */
  taps(headers: IncomingHttpHeaders, variant: Pick<ServedVariant, 'name'>): RequestTaps
  readonly unknownModels: UnknownModels
  /** Version of this plugin, shown by `/api/version`. */
  readonly version: string
  /** Address of the listener. */
  readonly host: string
  readonly apiKey: string | undefined
  readonly maxBodyBytes: number
  /** Returns the milliseconds for which a client may stop reading. */
  stallMs(): number
}
