import { service } from '@svc/plugin-sdk'
import type { ChatTool, ChatToolCall } from './engine.ts'
import type { InferenceMessage } from './images.ts'

/**
 * Client of the model server that this project uses: a local server, one on another machine, or a hosted service. Code
 * that needs a language model uses this service, whatever the server and its wire format.
 */
export const inferenceClient = service<InferenceClient>('inference.client@1')

export interface InferenceClient {
  /** Model for requests that name none. */
  readonly model: string
  /** Returns the configured target, whether or not a server runs. Throws `ICL_ADDRESS_INVALID`. */
  target(): InferenceTarget
  /**
   * Returns the server in use. It is discovered on the first call, and again after a failure.
   *
   * Throws `ICL_UNREACHABLE`, naming every address that was tried and its setting.
   */
  endpoint(signal?: AbortSignal): Promise<InferenceEndpoint>
  /**
   * Returns the models that the server offers. Throws like {@link InferenceClient.endpoint}, and `ICL_UNAUTHORIZED`.
   */
  models(signal?: AbortSignal): Promise<readonly RemoteModel[]>
  /**
   * Returns the models that the server has in memory now. Throws like {@link InferenceClient.models}, and
   * `ICL_RUNNING_UNKNOWN` if the server does not report them, as in OpenAI's format.
   */
  running(signal?: AbortSignal): Promise<readonly RunningModel[]>
  /** Reports whether the server responds and has the model. Throws in neither case. */
  check(options?: { readonly model?: string; readonly signal?: AbortSignal }): Promise<ModelCheck>
  /**
   * Requests the model's answer to a conversation. The last event is always `done`; aborting the signal throws its
   * reason.
   *
   * Throws `ICL_MODEL_UNKNOWN` (naming the requested and the offered models), `ICL_UNAUTHORIZED`, `ICL_BUSY` (data:
   * retryAfterMs), `ICL_REFUSED` with the server's message, or for images and a model without vision,
   * `ICL_IMAGE_INVALID`, `ICL_BROKEN_OFF` if the response ended early.
   */
  chat(request: InferenceChatRequest): AsyncIterable<InferenceChatEvent>
  /**
   * Returns a client with the same settings for the server at another base URL. Errors name `setting` as the URL's
   * source. The API key is sent only to an origin that the settings name.
   */
  at(url: string, setting: string): InferenceClient
}

export interface InferenceTarget {
  /** Null if no model is configured. */
  readonly model: string | null
  /** Base URLs in the order in which they are tried. */
  readonly urls: readonly string[]
}

export interface InferenceEndpoint {
  /** Base URL without a trailing slash. */
  readonly url: string
  /** Wire format of the server. */
  readonly api: 'ollama' | 'openai'
  /** Setting with the URL; `default` for the default URL. */
  readonly setting: string
}

export interface RemoteModel {
  readonly name: string
  /** Bytes; null if the server does not report it. */
  readonly sizeBytes: number | null
  /** ISO 8601; null if the server does not report it. */
  readonly modifiedAt: string | null
  readonly digest: string | null
  readonly family: string | null
  /** Number of parameters in the server's notation, for example `3.2M`. */
  readonly parameters: string | null
  readonly quantization: string | null
  /** Result of the model in place of text; null or absent for text, or if the server does not report it. */
  readonly kind?: 'embedding' | 'reranker' | null
}

/** A model in the memory of its server. */
export interface RunningModel {
  readonly name: string
  /** Total size in bytes; null if the server does not report it. */
  readonly sizeBytes: number | null
  readonly gpuBytes: number | null
  /** Maximum tokens of prompt and answer together; null if the server does not report it. */
  readonly contextLength: number | null
  /** When an idle model is unloaded, ISO 8601; null for never, or if the server does not report it. */
  readonly expiresAt: string | null
}

export interface ModelCheck {
  readonly ok: boolean
  readonly model: string
  readonly endpoint: InferenceEndpoint | null
  /** Names that the server offers. */
  readonly offered: readonly string[]
  /** Human-readable problem and advice; null if there is none. */
  readonly problem: string | null
}

export interface InferenceChatRequest {
  readonly messages: readonly InferenceMessage[]
  /** Prompt that replaces `messages` and `tools`, which are then ignored. */
  readonly prompt?: InferencePrompt
  readonly model?: string
  /** 0 to 2; default: the setting `temperature`. */
  readonly temperature?: number
  readonly topP?: number
  /** Default: the setting `max_tokens`. */
  readonly maxTokens?: number
  readonly seed?: number
  readonly stop?: readonly string[]
  /**
   * `json`: any JSON object. A JSON Schema: JSON that is valid against it. This project's model server also accepts
   * `{ type: 'grammar', grammar: { name } }` and `{ type: 'regex', pattern }`; other servers reject or ignore them.
   */
  readonly format?: 'json' | Readonly<Record<string, unknown>>
  readonly tools?: readonly ChatTool[]
  /** Purpose of the request. Helps to choose between local and hosted models, if the plugin `providers` is enabled. */
  readonly purpose?: InferencePurpose
  readonly signal?: AbortSignal
}

export interface InferencePurpose {
  /** Session of the user. Its requests keep their model. */
  readonly session?: string
  /** Agent that sends the request, for the accounts. */
  readonly agent?: string
  /** Task category, such as `codegen` or `planning`; default `general`. */
  readonly category?: string
  /** 1 to 10; default 5. */
  readonly complexity?: number
  readonly costPreference?: 'performance' | 'economy'
  /** Whether a fast answer matters more than a good one. */
  readonly latencyCritical?: boolean
  /** Whether the caller charges the answer to a budget, which also records its cost. Else the client records it. */
  readonly charged?: boolean
  /** Whether the answer fills a gap in code, which models for code do better. */
  readonly fillInMiddle?: boolean
}

/**
 * Prompt for a text completion. In Ollama's format it is sent to `/api/generate`. In OpenAI's format a raw prompt
 * without `format` is sent to `/v1/completions`, any other to `/v1/chat/completions`.
 */
export interface InferencePrompt {
  readonly text: string
  /**
   * Whether the model receives the text unchanged. Otherwise the model's template renders it as a user message.
   */
  readonly raw: boolean
  /** System message for the template; a raw prompt includes its own. */
  readonly system?: string
}

export type InferenceChatEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool-call'; readonly call: ChatToolCall }
  | {
      readonly type: 'done'
      readonly finishReason: 'stop' | 'length' | 'tool-calls'
      readonly model: string
      readonly usage: InferenceChatUsage
      /** Provider that answered; absent if only the configured server can answer. */
      readonly provider?: string
      /** Price of the answer in US dollars; absent if no price is known. */
      readonly costUsd?: number
      /** Id of the request at a hosted provider, for its support. */
      readonly requestId?: string
    }

export interface InferenceChatUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Milliseconds for evaluating the prompt and for generating; null if the server does not report them. */
  readonly promptMs: number | null
  readonly completionMs: number | null
}
