import { point, service } from '@svc/plugin-sdk'

/**
 * Kinds of model servers. All of them serve OpenAI's routes below `/v1`; `svc` and `ollama` also serve Ollama's routes
 * below `/api`. `openai` is any other server with OpenAI's routes; it reports no load.
 */
export const MODEL_SERVER_APIS = ['svc', 'ollama', 'vllm', 'llama.cpp', 'openai'] as const

export type ModelServerApi = (typeof MODEL_SERVER_APIS)[number]

/** Sources of model servers for the router, in addition to its settings. */
export const inferenceServers = point<InferenceServerSource>('inference.servers', { keys: item => [item.source] })

export interface InferenceServerSource {
  /** Name of the source, such as `mesh`. */
  readonly source: string
  /** Returns the servers that exist now. The router calls it every two seconds, so it must not do I/O. */
  list(): readonly InferenceServer[]
}

/** A model server to which the router may send requests. */
export interface InferenceServer {
  /** Unique name, which clients see in the header `x-svc-server`; printable ASCII. */
  readonly name: string
  /** Base URL without `/v1`; without user and password. */
  readonly url: string
  readonly api: ModelServerApi
  /** Requests that it runs concurrently. Default: as the server reports it, else by its kind. */
  readonly slots?: number
  /** Capacity relative to other servers. Default 1; 0 sends no new requests. */
  readonly weight?: number
  /** Bearer token that the server requires. */
  readonly apiKey?: string
  /** Names of loaded models, used until the server has answered the router for the first time. */
  readonly models?: readonly string[]
}

/** The router in this process, for the inference client in the same process. */
export const inferenceRouter = service<InferenceRouter>('inference.router@1')

export interface InferenceRouter {
  /** Base URL of the listener; undefined while it does not listen. */
  readonly url: string | undefined
  /**
   * Returns headers that mark a request as having passed the model hooks, so that the model server of this process does
   * not trigger them again. Empty for the URL of another server.
   */
  passFor(url: string): Readonly<Record<string, string>>
}
