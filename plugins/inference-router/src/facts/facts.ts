/** State of a server at one moment, as it reported it. */
export interface ServerFacts {
  /** When the request for the facts began, on the clock of `performance.now()`. */
  readonly at: number
  /** Models and adapters by plain name, see {@link plainName}. */
  readonly models: ReadonlyMap<string, ModelFacts>
  /** Requests that are being answered; null if the server does not report it. */
  readonly running: number | null
  /** Requests in the queue; null if the server does not report it. */
  readonly waiting: number | null
  /** Requests that the server can answer concurrently; null if it does not report it. */
  readonly slots: number | null
  /** Used part of the key-value cache, 0 to 1; null if the server does not report it. */
  readonly cacheUsage: number | null
  /** Adapters in the memory of the GPU, by plain name; null: every listed adapter is. */
  readonly activeAdapters: ReadonlySet<string> | null
  /** A number that changes when the server restarts; null if the server reports none. */
  readonly startedAt: number | null
  /** A number that only grows while the server runs; null if the server reports none. */
  readonly counter: number | null
}

/** Reported facts, before the router adds their time. */
export type ReportedFacts = Omit<ServerFacts, 'at'>

export interface ModelFacts {
  /** Name as the server lists it. */
  readonly name: string
  /** Plain name of the base model, if this is an adapter. */
  readonly parent: string | null
  readonly loaded: boolean
  /** Creation or change of the model, Unix seconds; 0 if the server does not report it. */
  readonly created: number
  /** Maximum tokens of prompt and answer; null if the server does not report it. */
  readonly contextLength: number | null
  /** Entry of `/api/tags`, for servers with Ollama's routes. */
  readonly tag: Readonly<Record<string, unknown>> | null
  /** Entry of `/api/ps`, for loaded models of servers with Ollama's routes. */
  readonly running: Readonly<Record<string, unknown>> | null
}

/** Facts of a server that reports only its models. */
export const NO_LOAD = {
  running: null,
  waiting: null,
  slots: null,
  cacheUsage: null,
  activeAdapters: null,
  startedAt: null,
  counter: null
} as const
