import { service } from '@svc/plugin-sdk'
import type { InferenceChatEvent, InferenceChatRequest, InferenceEndpoint, RemoteModel } from './client.ts'
import type { ModelHooks } from './model-hooks.ts'

/**
 * Chooses between the local model server and hosted providers. The inference client passes every request to it, if a
 * plugin provides it; else all requests go to the local server.
 */
export const inferenceProviders = service<InferenceProviders>('inference.providers@1')

export interface InferenceProviders {
  /** Answers a request. Throws like `InferenceClient.chat`; the errors of hosted providers have the same codes. */
  chat(request: InferenceChatRequest, local: LocalLane): AsyncIterable<InferenceChatEvent>
  /** Returns the endpoint that answers while the local server does not; null if no hosted provider is usable. */
  endpoint(): Promise<InferenceEndpoint | null>
  /** Returns the models of usable hosted providers. */
  models(): Promise<readonly RemoteModel[]>
  /** False if the inference profile excludes local servers. */
  readonly usesLocal: boolean
}

/** The configured model server without hosted providers, as the inference client offers it to them. */
export const localInference = service<LocalLane>('inference.local@1')

export interface LocalLane {
  /** Model of requests that name none. */
  readonly model: string
  /** Temperature and maximum tokens of requests that set none. */
  readonly defaults: { readonly temperature: number; readonly maxTokens: number }
  /** Hooks for requests to hosted providers; {@link LocalLane.chat} triggers them itself. */
  readonly hooks: ModelHooks
  /** Returns the address of the server, for requests that are no chats. Throws like `InferenceClient.endpoint`. */
  connection(signal?: AbortSignal): Promise<LocalConnection>
  /** Returns the models of the server. Throws like `InferenceClient.models`. */
  models(signal?: AbortSignal): Promise<readonly RemoteModel[]>
  /**
   * Returns whether a model of the server accepts images; null if the server does not report it. Throws like `models`.
   */
  sees(model: string, signal?: AbortSignal): Promise<boolean | null>
  /** Answers with the local server. Throws like `InferenceClient.chat`. */
  chat(request: InferenceChatRequest): AsyncIterable<InferenceChatEvent>
  /**
   * Sends a request in OpenAI's format. Throws {@link isWireFailure} errors, or those of `fetch`. Triggers no hooks.
   */
  openAi(target: OpenAiTarget, request: FilledChatRequest, signal: AbortSignal): AsyncIterable<InferenceChatEvent>
}

export interface LocalConnection extends Pick<InferenceEndpoint, 'url' | 'api'> {
  /** Headers of every request, with the key of the server. */
  readonly headers: Readonly<Record<string, string>>
}

/** Chat request whose missing fields were filled from the settings. */
export type FilledChatRequest = InferenceChatRequest &
  Required<Pick<InferenceChatRequest, 'model' | 'temperature' | 'maxTokens'>>

export interface OpenAiTarget {
  /** Complete URL of the chat completions. */
  readonly chatUrl: string
  readonly apiKey: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Names of fields that differ from OpenAI's; null leaves a field out. */
  readonly fields?: {
    readonly max_tokens?: string
    readonly seed?: string | null
    readonly stream_options?: null
  }
  /** Further fields of the body. */
  readonly body?: Readonly<Record<string, unknown>>
}

/** Error response of a model server. */
export class WireFailure extends Error {
  override readonly name = 'WireFailure'
  /** HTTP status; 502 for an invalid answer. */
  readonly status: number
  /** Retry delay in milliseconds, if the server sends one. */
  readonly retryAfterMs: number | null

  constructor(status: number, message: string, retryAfterMs: number | null = null) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** True for the error response of a model server, from any copy of the class. */
export function isWireFailure(error: unknown): error is WireFailure {
  return error instanceof Error && error.name === 'WireFailure' && 'status' in error && 'retryAfterMs' in error
}
