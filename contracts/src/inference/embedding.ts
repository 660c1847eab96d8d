import { service } from '@svc/plugin-sdk'
import type { LoadOptions } from './engine.ts'

/**
 * Loads models that compute vectors of texts, or scores of documents for a query, on this machine.
 *
 * {@link InferenceEmbeddings.load} reads a model folder: an encoder (BERT, RoBERTa, XLM-RoBERTa, MPNet, DistilBERT,
 * Nomic BERT, ModernBERT), static embeddings (model2vec), an exported `model.onnx`, or a cross-encoder.
 * {@link LoadedEmbedder.close} frees the weights.
 */
export const inferenceEmbeddings = service<InferenceEmbeddings>('inference.embeddings@1')

export interface InferenceEmbeddings {
  /**
   * Loads the model of a folder.
   *
   * Throws:
   * - `INF_RUN_DIR_*` if the folder is missing, incomplete, truncated or malicious;
   * - `INF_ARCHITECTURE_UNSUPPORTED` for an unsupported model family or configuration;
   * - `INF_TOKENIZER_UNSUPPORTED` for a tokenizer that does not fit the model.
   */
  load(options: EmbedderLoadOptions): Promise<LoadedEmbedder>
}

export interface EmbedderLoadOptions {
  /** Absolute path of the model folder. */
  readonly directory: string
  /** Threads of one run; default: the physical cores that the process may use. */
  readonly threads?: number
  /**
   * Representation of the weights of encoders and decoders: `none` as in the files, `q8`, `q4`, or `auto`, which
   * quantises large models; default: the setting of the plugin. Throws `INF_OPTION_INVALID` for `q8` and `q4` if the
   * folder has a static table or an exported graph.
   */
  readonly quantization?: LoadOptions['quantization']
  readonly signal?: AbortSignal
}

export interface EmbedderInfo {
  /** `embedding`: {@link Embedder.embed} works. `reranker`: {@link LoadedEmbedder.rank} works. */
  readonly kind: 'embedding' | 'reranker'
  /** Model family, for example `bert`, `static` or `onnx`. */
  readonly family: string
  /** Numbers of a vector; 1 for a reranker. */
  readonly dimensions: number
  /** Maximum length of a text in tokens, including the tokens that the model adds. */
  readonly contextLength: number
  readonly vocabularySize: number
  /** Number of weights. */
  readonly parameters: number
  /** Total bytes of the files that were read. */
  readonly sizeBytes: number
  /**
   * SHA-256 over the names, sizes and contents of the files, and the quantisation, hex: vectors of different digests
   * must not be compared.
   */
  readonly digest: string
  /** Device in use, for example `cpu`. */
  readonly device: string
}

export interface EmbedOptions {
  /** Number of leading components to keep; the shortened vectors are normalised. Default: all. */
  readonly dimensions?: number
  /** Whether texts beyond the context are cut. Default false: they are rejected. */
  readonly truncate?: boolean
  /** Purpose of the texts, if the model has a prompt for it. Default: the model's default prompt, if it has one. */
  readonly role?: 'query' | 'document'
  readonly signal?: AbortSignal
}

/** Vectors of texts, in order. */
export interface Vectors {
  /** Row-major, `[count][dimensions]`, finite. */
  readonly values: Float32Array
  readonly count: number
  readonly dimensions: number
  /** Tokens that were computed, including the tokens that the model adds. */
  readonly tokens: number
}

export interface Scores {
  /** A score from 0 to 1 for each document, in order: the higher, the more relevant. */
  readonly scores: Float32Array
  readonly tokens: number
}

/** Computes vectors of texts, on this machine or on a server. */
export interface Embedder {
  /**
   * Returns a vector for each text, or for each list of token ids, which are used unchanged.
   *
   * Throws:
   * - `INF_CONTEXT_EXCEEDED` (data: index, contextLength) for the first text that is too long, unless `truncate` is set;
   * - `INF_OPTION_INVALID` for unknown token ids, or dimensions that the model cannot give;
   * - `INF_NOT_FINITE` if a vector contains NaN or infinity;
   * - the reason of `signal` if it is aborted.
   */
  embed(inputs: readonly (string | readonly number[])[], options?: EmbedOptions): Promise<Vectors>
}

/** Opens an embedding model of another server: a hosted provider with a key, or the local model server. */
export const remoteEmbeddings = service<RemoteEmbeddings>('inference.remote-embeddings@1')

export interface RemoteEmbeddings {
  /**
   * Returns the model of the first usable provider: Hugging Face, OpenAI, OpenRouter, then the local model server if it
   * computes embeddings. Null if there is none. Throws `ICL_ADDRESS_INVALID` for an address without encryption.
   */
  open(signal?: AbortSignal): Promise<RemoteEmbedder | null>
}

/**
 * Embedding model of a server. It always stays with one provider, because vectors of different models must not be
 * compared. `role` has no effect. Throws the `ICL_*` errors of `InferenceClient.chat`, and `ICL_REFUSED` for token ids.
 */
export interface RemoteEmbedder extends Embedder {
  /** `huggingface`, `openai`, `openrouter`, or `local`. */
  readonly provider: string
  /** Name of the model at the provider. */
  readonly model: string
}

export interface LoadedEmbedder extends Embedder {
  readonly info: EmbedderInfo
  /** Returns the relevance of documents for a query. Throws like {@link Embedder.embed}. */
  rank(query: string, documents: readonly string[], options?: RankOptions): Promise<Scores>
  /** Rejects waiting texts with `INF_MODEL_CLOSED`, waits for the current run, and frees the weights. Idempotent. */
  close(): Promise<void>
}

export type RankOptions = Pick<EmbedOptions, 'truncate' | 'signal'>
