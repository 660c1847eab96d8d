import { service } from '@svc/plugin-sdk'

/**
 * What stands between a model server and whatever computes tokens.
 *
 * Lifecycle of a model:
 * 1. {@link InferenceEngine.load} reads a run directory and returns a model that is ready to generate.
 * 2. {@link LoadedModel.generate} is called any number of times; each call is one sequence and may be cancelled.
 * 3. {@link LoadedModel.close} stops running generations, then frees the weights.
 */
export const inferenceEngine = service<InferenceEngine>('inference.engine@1')

export interface InferenceEngine {
  /** Engine identity shown to people, for example `onnxruntime 1.30.0`. */
  readonly name: string
  /**
   * Tells apart two instances of one engine: a new value for every activation of the plugin that provides it. Models do
   * not outlive their engine, so whoever keeps one across a reload makes this a part of the key.
   */
  readonly instance?: string
  /** Devices that {@link LoadOptions.device} may name here and now; `cpu` is always among them. */
  devices(): Promise<readonly DeviceInfo[]>
  /**
   * Reads a run directory and makes its model ready.
   *
   * Throws `INF_RUN_DIR_*` when the directory is missing, incomplete, truncated or hostile, `INF_DEVICE_UNAVAILABLE`
   * when a device asked for by name is not there, `INF_ARCHITECTURE_UNSUPPORTED` for a model family it cannot build.
   */
  load(options: LoadOptions): Promise<LoadedModel>
}

export interface DeviceInfo {
  /** `cpu`, `cuda:0`, `webgpu`. */
  readonly id: string
  readonly description: string
}

export interface LoadOptions {
  /** Absolute path of the run directory. */
  readonly runDirectory: string
  /** `auto` takes the best device present; any other name is an error when it is not available. */
  readonly device?: string
  /** Threads for one session; default: the physical parallelism that the process may use. */
  readonly threads?: number
  /** Upper bound on the context in tokens; default: what the model's configuration states. */
  readonly maxContext?: number
  /** Sequences that may be generated at once; default 1. */
  readonly slots?: number
  /** Whether the adapter is merged into the weights; `false` serves the base model. Default true. */
  readonly adapter?: boolean
  readonly signal?: AbortSignal
  /** Called with 0..1 and the name of the step under way. */
  onProgress?(fraction: number, step: string): void
}

export interface ModelInfo {
  /** Model family as its configuration names it, for example `llama`. */
  readonly family: string
  /** Number of weights, adapter not counted. */
  readonly parameters: number
  /** Context length in tokens: prompt and completion together. */
  readonly contextLength: number
  readonly vocabularySize: number
  /** `F32`, `BF16`, `F16`, or the quantisation in use. */
  readonly precision: string
  /** Bytes on disk of everything that was read. */
  readonly sizeBytes: number
  /** SHA-256 over the names, sizes and contents of the files, hex. */
  readonly digest: string
  /** Device in use, for example `cpu`. */
  readonly device: string
  readonly adapter: AdapterInfo | null
  /** The chat template's source when the tokenizer has one; ChatML otherwise. */
  readonly chatTemplate: string | null
}

export interface AdapterInfo {
  readonly rank: number
  readonly alpha: number
  readonly targets: readonly string[]
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
}

export interface LoadedModel {
  readonly info: ModelInfo
  /** Renders a conversation with the model's template, ready for {@link LoadedModel.tokenize} with special tokens on. */
  renderChat(messages: readonly ChatMessage[]): string
  /** Token ids of a text. `special`: whether names of special tokens in the text become those tokens. */
  tokenize(text: string, options?: { readonly special?: boolean }): number[]
  /** Text of token ids; bytes that do not form UTF-8 become U+FFFD. */
  detokenize(tokens: readonly number[]): string
  /**
   * Generates one sequence, yielding text as it appears. The last event is always `done`.
   *
   * Text is never cut inside a UTF-8 sequence, and nothing that could still turn out to be a stop string is yielded early.
   * Aborting `signal` ends the sequence within one token, with `finishReason: 'cancelled'`.
   * Throws `INF_CONTEXT_EXCEEDED` (data: promptTokens, contextLength) before any event when the prompt does not fit.
   * Throws `INF_BUSY` when every slot is taken and the waiting room is full.
   */
  generate(request: GenerateRequest): AsyncIterable<GenerateEvent>
  /** What is free now. */
  capacity(): ModelCapacity
  /** Logits of the last position of every prefix asked for: test and evaluation use. Shape: `[positions][vocabulary]`. */
  logits(tokens: readonly number[]): Promise<Float32Array[]>
  close(): Promise<void>
}

export interface ModelCapacity {
  readonly slots: number
  readonly active: number
  readonly waiting: number
}

export interface SamplingOptions {
  /** 0 is greedy. Default 0.7. */
  readonly temperature?: number
  /** 0 keeps every token. */
  readonly topK?: number
  readonly topP?: number
  readonly minP?: number
  readonly repeatPenalty?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** Tokens of history that penalties look at; default 64, -1 the whole context. */
  readonly repeatLastN?: number
  /** Same seed, same request, same model: same text. */
  readonly seed?: number
  /** Token id to a number added to its logit. */
  readonly logitBias?: ReadonlyMap<number, number>
}

export interface GenerateRequest {
  readonly tokens: readonly number[]
  /** Tokens to generate at most; default: what is left of the context. */
  readonly maxTokens?: number
  readonly sampling?: SamplingOptions
  /** Generation stops before any of these strings; they are not part of the text. */
  readonly stop?: readonly string[]
  /** Whether the end-of-sequence tokens are ignored. */
  readonly ignoreEos?: boolean
  /** Number of most likely alternatives to report per token; 0 reports the chosen token alone; absent reports nothing. */
  readonly logprobs?: number
  readonly signal?: AbortSignal
}

export interface TokenLogprob {
  readonly token: number
  readonly text: string
  /** Natural logarithm of the probability after the soft-max of the unmodified logits. */
  readonly logprob: number
}

export type GenerateEvent =
  | {
      readonly type: 'text'
      readonly text: string
      /** Tokens that went into this piece of text. */
      readonly tokens: readonly number[]
      readonly logprobs?: readonly (TokenLogprob & { readonly top: readonly TokenLogprob[] })[]
    }
  | {
      readonly type: 'done'
      readonly finishReason: 'stop' | 'length' | 'cancelled'
      readonly usage: GenerateUsage
    }

export interface GenerateUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Waiting for a slot, nanoseconds. */
  readonly queueNs: number
  /** Reading the prompt, nanoseconds. */
  readonly promptNs: number
  /** Generating, nanoseconds. */
  readonly completionNs: number
}
