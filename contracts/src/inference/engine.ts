import { service } from '@svc/plugin-sdk'
import type { OutputConstraint } from './constraint.ts'

/**
 * Contract between a model server and an inference engine.
 *
 * Lifecycle of a model:
 * 1. {@link InferenceEngine.load} reads a run directory and returns a model that is ready to generate.
 * 2. {@link LoadedModel.generate} is called any number of times; each call is one sequence and may be cancelled.
 * 3. {@link LoadedModel.close} stops running generations, then frees the weights.
 */
export const inferenceEngine = service<InferenceEngine>('inference.engine@1')

export interface InferenceEngine {
  /** Display name with version, for example `onnxruntime 1.30.0`. */
  readonly name: string
  /**
   * Id of the engine instance, new for each activation of its plugin. A model runs the code of the engine that loaded
   * it. A caller that caches models across reloads must therefore include this id in its cache key.
   */
  readonly instance?: string
  /** Returns the devices that {@link LoadOptions.device} may currently name, always including `cpu`. */
  devices(): Promise<readonly DeviceInfo[]>
  /**
   * Loads the model of a run directory.
   *
   * Throws:
   * - `INF_RUN_DIR_*` if the directory is missing, incomplete, truncated or malicious;
   * - `INF_DEVICE_UNAVAILABLE` if the requested device does not exist;
   * - `INF_ARCHITECTURE_UNSUPPORTED` for an unsupported model family or configuration.
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
  /** `auto` uses the best available device; any other name is an error if that device is not available. */
  readonly device?: string
  /** Threads for one session; default: the physical cores that the process may use. */
  readonly threads?: number
  /** Upper bound on the context in tokens; default: that of the model's configuration. */
  readonly maxContext?: number
  /** Maximum of concurrent sequences; default 1. `auto`: as many as fit into memory, up to a limit. */
  readonly slots?: number | 'auto'
  /** Format of the weights in memory; default `auto`, which chooses by device, memory and size of the model. */
  readonly quantization?: 'auto' | Quantization
  /** Whether the adapter is merged into the weights; `false` serves the base model. Default true. */
  readonly adapter?: boolean
  readonly signal?: AbortSignal
  /** Called with the progress from 0 to 1 and the name of the current step. */
  onProgress?(fraction: number, step: string): void
}

/** `none`: as the checkpoint stores them. `q8`, `q4`: 8 or 4 bits a weight, computed at load and cached. */
export type Quantization = 'none' | 'q8' | 'q4'

export interface ModelInfo {
  /** Model family from the model's configuration, for example `llama`. */
  readonly family: string
  /** Number of weights, without the adapter. */
  readonly parameters: number
  /** Context length in tokens: prompt and completion together. */
  readonly contextLength: number
  readonly vocabularySize: number
  /** `F32`, `BF16`, `F16`, or the quantisation in use. */
  readonly precision: string
  readonly quantization: Quantization
  /** Source of the weights: a checkpoint's tensors, a GGUF file, or an exported decoder. */
  readonly format: 'safetensors' | 'gguf' | 'onnx'
  /** Total bytes of the files that were read. */
  readonly sizeBytes: number
  /** SHA-256 over the names, sizes and contents of the files, hex. */
  readonly digest: string
  /** Device in use, for example `cpu`. */
  readonly device: string
  readonly adapter: AdapterInfo | null
  /** Source of the tokenizer's chat template; null if it has none, and ChatML is used. */
  readonly chatTemplate: string | null
  /** Tokens that end an answer, the one of the configuration first; absent if the engine does not report them. */
  readonly endTokens?: readonly number[]
}

export interface AdapterInfo {
  readonly rank: number
  readonly alpha: number
  readonly targets: readonly string[]
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  /** Reasoning of an assistant before its answer, if its template separates it. */
  readonly thinking?: string
  /** Calls that an assistant made. */
  readonly toolCalls?: readonly ChatToolCall[]
  /** For a message with a tool's result: the id of the call. */
  readonly toolCallId?: string
  readonly name?: string
}

export interface ChatToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** A function that the model may call. */
export interface ChatTool {
  readonly name: string
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface RenderChatOptions {
  readonly tools?: readonly ChatTool[]
  /** Whether the model reasons first, if its template has a switch for it. */
  readonly thinking?: boolean
}

export interface RenderTemplateOptions extends RenderChatOptions {
  /** Any id of the client; the queue is fair between clients. */
  readonly client?: string
}

/** Inputs that a model's template supports; false if it drops that input. */
export interface ChatCapabilities {
  readonly tools: boolean
  readonly thinking: boolean
}

export interface LoadedModel {
  readonly info: ModelInfo
  /**
   * Renders a conversation with the model's template, ready for {@link LoadedModel.tokenize} with special tokens on.
   */
  renderChat(messages: readonly ChatMessage[], options?: RenderChatOptions): string
  /**
   * Like `renderChat`, with Jinja source from a request instead of the model's template. A malicious template must not
   * block the caller's thread. Throws `INF_CHAT_TEMPLATE_FAILED` if the template fails or exceeds a limit.
   */
  renderTemplate(template: string, messages: readonly ChatMessage[], options?: RenderTemplateOptions): Promise<string>
  /** Inputs that {@link LoadedModel.renderChat} supports with the model's own template. */
  readonly chatCapabilities: ChatCapabilities
  /**
   * Returns token ids. `special`: whether names of special tokens in the text become those tokens. `begin`: whether to
   * prepend the tokens that the model expects at the beginning of every sequence, unless present.
   */
  tokenize(text: string, options?: { readonly special?: boolean; readonly begin?: boolean }): number[]
  /** Returns the text of token ids; invalid UTF-8 becomes U+FFFD. */
  detokenize(tokens: readonly number[]): string
  /** Returns the bytes of a token, which may be a part of a character; those of its name for a special token. */
  tokenBytes(token: number): Uint8Array
  /**
   * Generates one sequence, yielding text as it appears. The last event is always `done`.
   *
   * Text is never cut inside a UTF-8 sequence. Text that may be the beginning of a stop string is held back. Aborting
   * `signal` ends the sequence within one token, with `finishReason: 'cancelled'`.
   *
   * Throws before any event:
   * - `INF_CONTEXT_EXCEEDED` (data: promptTokens, contextLength) if the prompt does not fit;
   * - `INF_BUSY` if every slot is in use and the queue is full;
   * - `INF_ADAPTER_UNKNOWN` if no adapter has the requested name;
   * - `INF_CONSTRAINT_UNSUPPORTED` if the constraint uses an unsupported feature.
   */
  generate(request: GenerateRequest): AsyncIterable<GenerateEvent>
  /** Returns the current load and free capacity. */
  capacity(): ModelCapacity
  /** Counters since the model was loaded. */
  statistics(): ModelStatistics
  /** Adapters that requests may name in addition to the one loaded with the model; absent if the engine has none. */
  readonly adapters?: ModelAdapters
  /**
   * Returns the logits at each position, for tests and evaluation. Shape: `[positions][vocabulary]`.
   * `adapter` as in {@link GenerateRequest.adapter}.
   */
  logits(tokens: readonly number[], options?: { readonly adapter?: string | null }): Promise<Float32Array[]>
  /**
   * Returns the log probability of each token after the first, given the tokens before it. Reads the tokens in chunks, so
   * that memory for logits does not grow with their number.
   *
   * Throws `INF_CONTEXT_EXCEEDED`, `INF_BUSY` and `INF_ADAPTER_UNKNOWN` like {@link LoadedModel.generate}, and the reason
   * of `signal`.
   */
  score(request: ScoreRequest): Promise<readonly ScoredToken[]>
  close(): Promise<void>
}

/** Tokens to score; the fields have the meaning of those of {@link GenerateRequest}. */
export interface ScoreRequest extends Pick<GenerateRequest, 'tokens' | 'adapter' | 'client' | 'maxWaiting' | 'signal'> {
  /** Number of most likely tokens to report at each position; default 0. */
  readonly top?: number
}

export interface ScoredToken extends TokenLogprob {
  /** Position among all tokens by probability; 1 is the most likely. */
  readonly rank: number
  readonly top: readonly TokenLogprob[]
}

export interface ModelCapacity {
  readonly slots: number
  readonly active: number
  readonly waiting: number
}

export interface ModelStatistics {
  /** Prompt tokens that were computed. */
  readonly promptTokens: number
  readonly cachedPromptTokens: number
  readonly completionTokens: number
  /** Decoder runs for completions; `decodedSequences / decodeRuns` is the mean batch size. */
  readonly decodeRuns: number
  readonly decodedSequences: number
  /** Tokens drafted by speculative decoding. */
  readonly draftedTokens: number
  readonly acceptedTokens: number
  /** Cache positions of all slots; `cachePositionsUsed` of them hold a token that is in use or reusable. */
  readonly cachePositions: number
  readonly cachePositionsUsed: number
  /** Bytes of memory for the weights; `cacheBytes`: for the caches. */
  readonly weightBytes: number
  readonly cacheBytes: number
}

/** Adapters over one base model, by name. They can be added and removed while the model serves. */
export interface ModelAdapters {
  list(): readonly NamedAdapter[]
  /**
   * Reads an adapter from a folder: the tensors of a run directory, or a Hugging Face PEFT directory.
   *
   * Throws `INF_ADAPTER_INVALID` if it does not match the model, `INF_ADAPTER_EXISTS` if the name is in use.
   */
  add(options: {
    readonly name: string
    readonly directory: string
    readonly signal?: AbortSignal
  }): Promise<NamedAdapter>
  /**
   * Removes an adapter. New requests no longer find it; it is freed when the sequences that use it have ended. Throws
   * `INF_ADAPTER_UNKNOWN`.
   */
  remove(name: string): Promise<void>
}

export interface NamedAdapter extends AdapterInfo {
  readonly name: string
  readonly directory: string
  /** Bytes of its low-rank matrices in memory. */
  readonly sizeBytes: number
}

export interface SamplingOptions {
  /** 0 is greedy. Default 0.7. */
  readonly temperature?: number
  /** 0 keeps every token. */
  readonly topK?: number
  readonly topP?: number
  readonly minP?: number
  /** Locally typical sampling (https://arxiv.org/abs/2202.00666): probability mass to keep; 1 keeps every token. */
  readonly typicalP?: number
  readonly repeatPenalty?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** Number of earlier tokens that penalties consider; default 64; -1: the whole context. */
  readonly repeatLastN?: number
  /** The same seed, request and model give the same text. */
  readonly seed?: number
  /** Number to add to the logit, by token id. */
  readonly logitBias?: ReadonlyMap<number, number>
}

export interface GenerateRequest {
  readonly tokens: readonly number[]
  /** Maximum of generated tokens; default: the rest of the context. */
  readonly maxTokens?: number
  readonly sampling?: SamplingOptions
  /** Generation stops before any of these strings; the output does not include them. */
  readonly stop?: readonly string[]
  /** Whether the end-of-sequence tokens are ignored. */
  readonly ignoreEos?: boolean
  /** Number of top alternatives to report per token; 0 reports only the chosen token; absent reports nothing. */
  readonly logprobs?: number
  /** Constraint on the output. */
  readonly constraint?: OutputConstraint
  /** Name of one of {@link LoadedModel.adapters}; `null`: no adapter. Default: the one loaded with the model. */
  readonly adapter?: string | null
  /** Any id of the client; the queue is fair between clients. */
  readonly client?: string
  /**
   * Refuses the request with `INF_BUSY` if it would have to wait behind this many requests; default: a limit of the
   * engine.
   */
  readonly maxWaiting?: number
  /** Whether the cached prefix of an earlier request may be reused; default true. */
  readonly reusePrefix?: boolean
  readonly signal?: AbortSignal
}

export interface TokenLogprob {
  readonly token: number
  readonly text: string
  /** Natural logarithm of the probability, from the softmax of the unmodified logits. */
  readonly logprob: number
}

export type GenerateEvent =
  | {
      readonly type: 'text'
      readonly text: string
      /** Tokens of this piece of text. */
      readonly tokens: readonly number[]
      readonly logprobs?: readonly (TokenLogprob & { readonly top: readonly TokenLogprob[] })[]
    }
  | {
      readonly type: 'done'
      readonly finishReason: 'stop' | 'length' | 'cancelled'
      /** The stop string that ended the text; absent if none did. */
      readonly stopString?: string
      readonly usage: GenerateUsage
    }

export interface GenerateUsage {
  readonly promptTokens: number
  /** Prompt tokens that came from the prefix cache instead of being computed. */
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Waiting for a slot, nanoseconds. */
  readonly queueNs: number
  /** Reading the prompt, nanoseconds. */
  readonly promptNs: number
  /** Generating, nanoseconds. */
  readonly completionNs: number
}
