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
  /** Engine identity shown to people, for example `onnxruntime 1.30.0`. */
  readonly name: string
  /**
   * Identifies an instance of an engine: a new value for every activation of the plugin that provides it. A model keeps
   * the code of the engine that loaded it. A caller that keeps a model across a reload includes this in its key.
   */
  readonly instance?: string
  /** Devices that {@link LoadOptions.device} may currently name; `cpu` is always among them. */
  devices(): Promise<readonly DeviceInfo[]>
  /**
   * Reads a run directory and makes its model ready.
   *
   * Throws `INF_RUN_DIR_*` when the directory is missing, incomplete, truncated or hostile, `INF_DEVICE_UNAVAILABLE`
   * when a requested device is missing, `INF_ARCHITECTURE_UNSUPPORTED` for a model family it cannot build.
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
  /** `auto` takes the best available device; any other name is an error if it is not available. */
  readonly device?: string
  /** Threads for one session; default: the physical parallelism that the process may use. */
  readonly threads?: number
  /** Upper bound on the context in tokens; default: what the model's configuration states. */
  readonly maxContext?: number
  /** Maximum of concurrent sequences; default 1. `auto`: as many as fit into memory, up to a limit. */
  readonly slots?: number | 'auto'
  /** Format of the weights in memory; default `auto`, which chooses by device, memory and size of the model. */
  readonly quantization?: 'auto' | Quantization
  /** Whether the adapter is merged into the weights; `false` serves the base model. Default true. */
  readonly adapter?: boolean
  readonly signal?: AbortSignal
  /** Called with 0..1 and the name of the step under way. */
  onProgress?(fraction: number, step: string): void
}

/** `none`: as the checkpoint stores them. `q8`, `q4`: 8 or 4 bits a weight, computed at load and cached. */
export type Quantization = 'none' | 'q8' | 'q4'

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
  readonly quantization: Quantization
  /** Source of the weights: a checkpoint's tensors, or an exported decoder. */
  readonly format: 'safetensors' | 'onnx'
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
  /** Reasoning of an assistant before its answer, if its template separates it. */
  readonly thinking?: string
  /** Calls that an assistant made. */
  readonly toolCalls?: readonly ChatToolCall[]
  /** Id of the call that a tool's message answers, and the tool's name. */
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

/** Features of a model's template; false if it drops that input. */
export interface ChatAbilities {
  readonly tools: boolean
  readonly thinking: boolean
}

export interface LoadedModel {
  readonly info: ModelInfo
  /** Renders a conversation with the model's template, ready for {@link LoadedModel.tokenize} with special tokens on. */
  renderChat(messages: readonly ChatMessage[], options?: RenderChatOptions): string
  /**
   * Like `renderChat`, with the Jinja source of a request instead of the model's template. A hostile template must not
   * block the caller's thread. Throws `INF_CHAT_TEMPLATE_FAILED` also for a template that takes too long.
   */
  renderTemplate(template: string, messages: readonly ChatMessage[], options?: RenderChatOptions): Promise<string>
  /** Features of {@link LoadedModel.renderChat} with the model's own template. */
  readonly chatAbilities: ChatAbilities
  /**
   * Token ids of a text. `special`: whether names of special tokens in the text become those tokens. `begin`: whether
   * to prepend the tokens that the model expects at the beginning of every text, unless present.
   */
  tokenize(text: string, options?: { readonly special?: boolean; readonly begin?: boolean }): number[]
  /** Text of token ids; bytes that do not form UTF-8 become U+FFFD. */
  detokenize(tokens: readonly number[]): string
  /**
   * Generates one sequence, yielding text as it appears. The last event is always `done`.
   *
   * Text is never cut inside a UTF-8 sequence, and nothing that could still turn out to be a stop string is yielded
   * early. Aborting `signal` ends the sequence within one token, with `finishReason: 'cancelled'`. Throws
   * `INF_CONTEXT_EXCEEDED` (data: promptTokens, contextLength) before any event when the prompt does not fit. Throws
   * `INF_BUSY` if every slot is taken and the queue is full, `INF_ADAPTER_UNKNOWN` if no adapter has the requested
   * name.
   */
  generate(request: GenerateRequest): AsyncIterable<GenerateEvent>
  /** Free capacity now. */
  capacity(): ModelCapacity
  /** Counters since the model was loaded. */
  statistics(): ModelStatistics
  /** Adapters that requests may name in addition to the one loaded with the model; absent where the engine has none. */
  readonly adapters?: ModelAdapters
  /**
   * Logits of the last position of every requested prefix, for tests and evaluation. Shape: `[positions][vocabulary]`.
   * `adapter` as in {@link GenerateRequest.adapter}.
   */
  logits(tokens: readonly number[], options?: { readonly adapter?: string | null }): Promise<Float32Array[]>
  close(): Promise<void>
}

export interface ModelCapacity {
  readonly slots: number
  readonly active: number
  readonly waiting: number
}

export interface ModelStatistics {
  /** Computed tokens of prompts, and tokens saved by a cached prefix. */
  readonly promptTokens: number
  readonly cachedPromptTokens: number
  readonly completionTokens: number
  /**
   * Runs of the decoder for completions, and the sequences that they advanced: their quotient is the mean batch size.
   */
  readonly decodeRuns: number
  readonly decodedSequences: number
  /** Speculated tokens, and how many of them were accepted. */
  readonly draftedTokens: number
  readonly acceptedTokens: number
  /** Positions of all slots, and how many hold a token that is in use or reusable. */
  readonly cachePositions: number
  readonly cachePositionsUsed: number
  /** Bytes that weights and caches take. */
  readonly weightBytes: number
  readonly cacheBytes: number
}

/** Adapters over one base model, each under a separate name. They can be loaded and removed while the model serves. */
export interface ModelAdapters {
  list(): readonly NamedAdapter[]
  /**
   * Reads an adapter from a folder: the tensors of a run directory, or a Hugging Face PEFT directory.
   *
   * Throws `INF_ADAPTER_INVALID` if it does not fit the model, `INF_ADAPTER_EXISTS` if the name is taken.
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
  /** Bytes of its factors in memory. */
  readonly sizeBytes: number
}

export interface SamplingOptions {
  /** 0 is greedy. Default 0.7. */
  readonly temperature?: number
  /** 0 keeps every token. */
  readonly topK?: number
  readonly topP?: number
  readonly minP?: number
  /** Locally typical sampling (https://arxiv.org/abs/2202.00666): share of the whole that is kept; 1 keeps everything. */
  readonly typicalP?: number
  readonly repeatPenalty?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** Number of earlier tokens that penalties consider; default 64; -1: the whole context. */
  readonly repeatLastN?: number
  /** Same seed, same request, same model: same text. */
  readonly seed?: number
  /** Token id to a number added to its logit. */
  readonly logitBias?: ReadonlyMap<number, number>
}

export interface GenerateRequest {
  readonly tokens: readonly number[]
  /** Maximum of generated tokens; default: the rest of the context. */
  readonly maxTokens?: number
  readonly sampling?: SamplingOptions
  /** Generation stops before any of these strings; they are not part of the text. */
  readonly stop?: readonly string[]
  /** Whether the end-of-sequence tokens are ignored. */
  readonly ignoreEos?: boolean
  /** Number of most likely alternatives to report per token; 0 reports only the chosen token; absent reports nothing. */
  readonly logprobs?: number
  /** Constraint on the answer. Throws `INF_CONSTRAINT_UNSUPPORTED`, naming the keyword, before any event. */
  readonly constraint?: OutputConstraint
  /** Name of one of {@link LoadedModel.adapters}; `null`: no adapter. Default: the one loaded with the model. */
  readonly adapter?: string | null
  /** Client of the request: the queue is fair between clients. Any text. */
  readonly client?: string
  /** Whether the cached prefix of an earlier request may be reused; default true. */
  readonly reusePrefix?: boolean
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
      /** Tokens of this piece of text. */
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
  /** Tokens of the prompt that were not computed, since an earlier request cached them. */
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Waiting for a slot, nanoseconds. */
  readonly queueNs: number
  /** Reading the prompt, nanoseconds. */
  readonly promptNs: number
  /** Generating, nanoseconds. */
  readonly completionNs: number
}
