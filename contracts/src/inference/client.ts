import { service } from '@svc/plugin-sdk'
import type { ChatMessage, ChatTool, ChatToolCall } from './engine.ts'

/**
 * The model server that this project uses: here, on another machine, or as a hosted service. Code that needs a language
 * model uses this service. It need not know the model's server or which of the two common formats that speaks.
 */
export const inferenceClient = service<InferenceClient>('inference.client@1')

export interface InferenceClient {
  /** Model for requests that name none. */
  readonly model: string
  /** Configured target, independent of a running server. Throws `ICL_ADDRESS_INVALID`. */
  target(): InferenceTarget
  /**
   * The server in use. Found on first need, and looked for again after a failure.
   *
   * Throws `ICL_UNREACHABLE`, naming every address that was tried and its setting.
   */
  endpoint(signal?: AbortSignal): Promise<InferenceEndpoint>
  /** Models that the server offers. Throws as {@link InferenceClient.endpoint}, and `ICL_UNAUTHORIZED`. */
  models(signal?: AbortSignal): Promise<readonly RemoteModel[]>
  /**
   * Models that the server has in memory now. Throws as {@link InferenceClient.models}, and `ICL_RUNNING_UNKNOWN` if
   * the server does not report them: OpenAI's format cannot.
   */
  running(signal?: AbortSignal): Promise<readonly RunningModel[]>
  /** Reports whether the server answers and has the model. Never throws for either. */
  check(options?: { readonly model?: string; readonly signal?: AbortSignal }): Promise<ModelCheck>
  /**
   * Requests the model's answer to a conversation. The last event is always `done`; aborting the signal throws its
   * reason.
   *
   * Throws `ICL_MODEL_UNKNOWN` (naming the requested and the offered models), `ICL_UNAUTHORIZED`, `ICL_BUSY` (data:
   * retryAfterMs), `ICL_REFUSED` with the server's own words, `ICL_BROKEN_OFF` if the answer ended early.
   */
  chat(request: InferenceChatRequest): AsyncIterable<InferenceChatEvent>
  /**
   * Returns a client with the same settings for the server at another base URL. Errors name `setting` as its source.
   * The key is sent only to an origin that the settings name.
   */
  at(url: string, setting: string): InferenceClient
}

export interface InferenceTarget {
  /** Null while no model is chosen. */
  readonly model: string | null
  /** Base URLs in the order in which they are tried. */
  readonly urls: readonly string[]
}

export interface InferenceEndpoint {
  /** Base URL without a trailing slash. */
  readonly url: string
  /** Wire format of the server. */
  readonly api: 'ollama' | 'openai'
  /** Setting that named it; `default` for the default address. */
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
  /** As the server writes it, for example `3.2M`. */
  readonly parameters: string | null
  readonly quantization: string | null
}

/** A model in the memory of its server. */
export interface RunningModel {
  readonly name: string
  /** Its size in bytes, in total and on a GPU; null if the server does not report it. */
  readonly sizeBytes: number | null
  readonly gpuBytes: number | null
  /** Tokens that a prompt and its answer may have together; null if the server does not report it. */
  readonly contextLength: number | null
  /** When an idle model is unloaded, ISO 8601; null for never, or where the server does not report it. */
  readonly expiresAt: string | null
}

export interface ModelCheck {
  readonly ok: boolean
  readonly model: string
  readonly endpoint: InferenceEndpoint | null
  /** Names that the server offers. */
  readonly offered: readonly string[]
  /** Problem and advice for a person; null for none. */
  readonly problem: string | null
}

export interface InferenceChatRequest {
  readonly messages: readonly ChatMessage[]
  /** One text instead of `messages` and `tools`, which are ignored. */
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
   * `json`: any JSON object; a JSON Schema: JSON that is valid against it. This project's model server takes
   * `{ type: 'grammar', grammar: { name } }` and `{ type: 'regex', pattern }` too, which others refuse or ignore.
   */
  readonly format?: 'json' | Readonly<Record<string, unknown>>
  readonly tools?: readonly ChatTool[]
  readonly signal?: AbortSignal
}

/**
 * A text that the model completes: `POST /api/generate` in the format of Ollama; in that of OpenAI `POST
 * /v1/completions` if it is raw, without `format`, otherwise `POST /v1/chat/completions`.
 */
export interface InferencePrompt {
  readonly text: string
  /**
   * Whether the model receives the text unchanged. Otherwise the model's template wraps it like the message of a user.
   */
  readonly raw: boolean
  /** A system message for the template; raw texts have their own. */
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
    }

export interface InferenceChatUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Milliseconds that the server took to read the prompt and to write the answer; null where it does not say. */
  readonly promptMs: number | null
  readonly completionMs: number | null
}
