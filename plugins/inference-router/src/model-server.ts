import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { InferenceServer, ModelServerApi } from '@svc/contracts'
import { Breaker } from './breaker.ts'
import type { ModelFacts, ReportedFacts, ServerFacts } from './facts/facts.ts'
import { plainName } from './model-name.ts'
import { ModelSpeed } from './model-speed.ts'

/** Slots of servers that report none. vLLM's default is `--max-num-seqs 256`, Ollama's `OLLAMA_NUM_PARALLEL=1`. */
const DEFAULT_SLOTS: Readonly<Record<ModelServerApi, number>> = {
  svc: 1,
  ollama: 1,
  vllm: 256,
  'llama.cpp': 1,
  openai: 16
}

/** Starts of a process are in seconds; two values closer than this are the same start. */
const SAME_START_SECONDS = 0.5
/** Idle connections that are kept for each server. */
const MAX_IDLE_SOCKETS = 256
/** Models of a server that are remembered; the names come from requests. */
const MAX_MODELS = 1_000

export interface ServerContext {
  /** Returns a number for the prefix index that was not used before. */
  readonly newResidency: () => number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** One model server: its address, facts, load, speed and faults. */
export class ModelServer {
  readonly name: string
  readonly url: string
  readonly api: ModelServerApi
  readonly apiKey: string | undefined
  /** Source of the server: `settings`, or the name of an `InferenceServerSource`. */
  readonly source: string
  readonly breaker: Breaker
  readonly agent: HttpAgent | HttpsAgent
  /** Capacity relative to other servers; 0 receives no new requests. */
  weight: number
  /** Requests of this router that have been sent and not ended. */
  inFlight = 0
  /** Requests of this router in flight, by plain name of the model. */
  readonly #uses = new Map<string, { count: number; readonly since: number }>()
  #configuredSlots: number | undefined
  #hints: readonly string[]
  #facts: ServerFacts | null = null
  #problem: string | null = null
  #inFlightAtFacts = 0
  /** No request before this time: the server sent `Retry-After`. */
  #heldUntil = 0
  /** True if a connection was refused since the last facts, so that the process has ended. */
  #wasDown = false
  readonly #residencies = new Map<string, number>()
  readonly #speeds = new Map<string, ModelSpeed>()
  readonly #newResidency: () => number
  readonly #now: () => number

  constructor(server: InferenceServer, source: string, { newResidency, now }: ServerContext) {
    this.name = server.name
    this.url = server.url
    this.api = server.api
    this.apiKey = server.apiKey
    this.source = source
    this.weight = server.weight ?? 1
    this.#configuredSlots = server.slots
    this.#hints = (server.models ?? []).map(plainName)
    this.#newResidency = newResidency
    this.#now = now
    this.breaker = new Breaker(now)
    const options = { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS }
    this.agent = this.url.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options)
  }

  /** Takes the settings that do not identify the server. */
  update({ weight = 1, slots, models = [] }: InferenceServer): void {
    this.weight = weight
    this.#configuredSlots = slots
    this.#hints = models.map(plainName)
  }

  /** True if an entry describes this server, apart from what {@link update} changes. */
  is({ name, url, api, apiKey }: InferenceServer, source: string): boolean {
    return (
      this.name === name && this.url === url && this.api === api && this.apiKey === apiKey && this.source === source
    )
  }

  /** True if the server serves Ollama's routes. */
  get hasOllamaRoutes(): boolean {
    return this.api === 'svc' || this.api === 'ollama'
  }

  get facts(): ServerFacts | null {
    return this.#facts
  }

  /** Reason for which the last facts could not be read; null if they could. */
  get problem(): string | null {
    return this.#problem
  }

  /** Age of the facts in milliseconds; infinite without facts. */
  get factsAgeMs(): number {
    return this.#facts === null ? Number.POSITIVE_INFINITY : this.#now() - this.#facts.at
  }

  /** Call this when a request for facts begins. */
  beginFacts(): { readonly at: number; readonly inFlight: number } {
    return { at: this.#now(), inFlight: this.inFlight }
  }

  /** Takes new facts. Drops what was known of the caches if the server has restarted or unloaded a model. */
  takeFacts(reported: ReportedFacts, { at, inFlight }: { readonly at: number; readonly inFlight: number }): void {
    const previous = this.#facts
    const facts = { ...reported, at }
    if (this.#wasDown || (previous !== null && hasRestarted(previous, facts))) this.#residencies.clear()
    else if (previous !== null) {
      for (const name of this.#residencies.keys()) {
        const isLoaded = facts.models.get(name)?.loaded ?? false
        if (!isLoaded && (previous.models.get(name)?.loaded ?? false)) this.#residencies.delete(name)
      }
    }
    if (this.#wasDown || this.#problem !== null) this.breaker.retryNow()
    this.#wasDown = false
    this.#problem = null
    this.#facts = facts
    this.#inFlightAtFacts = inFlight
  }

  /** `isDown`: no process listens at the address. */
  factsFailed(problem: string, isDown: boolean): void {
    this.#problem = problem
    if (isDown) this.connectionLost()
  }

  /** Records that the process of the server has probably ended. */
  connectionLost(): void {
    this.#wasDown = true
  }

  /** Holds back requests for a time, as the server asked with `Retry-After`. */
  hold(milliseconds: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#now() + milliseconds)
  }

  /** Returns 0 if a request may be sent, else the milliseconds until one may be. */
  waitMs(): number {
    return Math.max(this.#heldUntil - this.#now(), this.breaker.waitMs(), 0)
  }

  /** Returns the model with a plain name; null if the facts do not have it. */
  model(name: string): ModelFacts | null {
    return this.#facts?.models.get(name) ?? null
  }

  /** True if the server may have the model although no facts say so: it has not reported any. */
  mayHave(name: string): boolean {
    return this.#facts === null && (this.#hints.length === 0 || this.#hints.includes(name))
  }

  /**
   * Running and waiting requests. The reported ones are corrected by the requests of this router since then; without a
   * report, only those are counted.
   */
  get load(): number {
    const { running = null, waiting = null } = this.#facts ?? {}
    if (running === null && waiting === null) return this.inFlight
    const reported = (running ?? 0) + (waiting ?? 0)
    return Math.max(this.inFlight, reported + this.inFlight - this.#inFlightAtFacts)
  }

  /** Requests that the server answers concurrently. A server with a queue has no more slots than it uses. */
  get slots(): number {
    if (this.#configuredSlots !== undefined) return this.#configuredSlots
    const { slots = null, running = null, waiting = null } = this.#facts ?? {}
    if (slots !== null) return Math.max(1, slots)
    const usual = DEFAULT_SLOTS[this.api]
    return waiting !== null && waiting > 0 && running !== null && running > 0 ? Math.min(usual, running) : usual
  }

  /** True if the adapter is in memory, or a request of this router has it loaded now. */
  hasAdapter(name: string): boolean {
    const active = this.#facts?.activeAdapters ?? null
    return active === null || active.has(name) || this.#uses.has(name)
  }

  /** Returns the expected milliseconds to load a model that is not in memory. A request in flight has begun to load it. */
  loadMs(name: string): number {
    const { loadMs } = this.speed(name)
    const since = this.#uses.get(name)?.since
    return since === undefined ? loadMs : Math.max(0, loadMs - (this.#now() - since))
  }

  /** Records a request for a model until the returned function is called. */
  use(name: string): () => void {
    const use = this.#uses.get(name) ?? { count: 0, since: this.#now() }
    use.count += 1
    this.#uses.set(name, use)
    this.inFlight += 1
    return () => {
      use.count -= 1
      this.inFlight -= 1
      if (use.count === 0) this.#uses.delete(name)
    }
  }

  /** Returns the number of a model in the memory of this server, for the prefix index; see `PrefixIndex`. */
  residency(name: string): number {
    return remembered(this.#residencies, name, this.#newResidency)
  }

  /** Returns the measured speed of a model, for requests to record it. */
  speed(name: string): ModelSpeed {
    return remembered(this.#speeds, name, () => new ModelSpeed())
  }

  get speeds(): ReadonlyMap<string, ModelSpeed> {
    return this.#speeds
  }

  /** Closes idle connections. Requests in flight continue, and their connections close after them. */
  close(): void {
    this.agent.maxFreeSockets = 0
    for (const sockets of Object.values(this.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }
}

/** Returns the value of a name, created if necessary. Drops the oldest name above the limit. */
function remembered<A>(values: Map<string, A>, name: string, create: () => A): A {
  const known = values.get(name)
  if (known !== undefined) return known
  const [oldest] = values.keys()
  if (values.size >= MAX_MODELS) values.delete(oldest as string)
  const value = create()
  values.set(name, value)
  return value
}

function hasRestarted(previous: ServerFacts, next: ServerFacts): boolean {
  const started = previous.startedAt !== null && next.startedAt !== null
  if (started && Math.abs((previous.startedAt as number) - (next.startedAt as number)) > SAME_START_SECONDS) return true
  return previous.counter !== null && next.counter !== null && next.counter < previous.counter
}
