import type { ModelServer } from './model-server.ts'
import type { PrefixIndex } from './prefix-index.ts'
import { BLOCK_BYTES, type PromptBlocks } from './prompt-blocks.ts'
import { rendezvousScore } from './rendezvous.ts'

/**
 * Servers above this multiple of the mean load, plus two requests, receive no further request. With one request, a
 * conversation leaves its server too often at low load, and its whole prompt is read again. Servers that have loaded
 * the model and servers that have not have a mean each: a queue may be shorter than the time to load.
 */
const LOAD_BOUND = 1.25
const LOAD_MARGIN = 2
/**
 * Part of a prompt that a server must have read for its prefix to decide. With less, the request begins a conversation,
 * whose later turns follow it: servers with little load are better, even if others know the system prompt.
 */
const MIN_MATCHED_SHARE = 0.5
const ADAPTER_LOAD_MS = 500
/** Differences below this are noise of the estimates. */
const SAME_COST_MS = 100

/** `prefix`: the server has read the beginning of the prompt. `hash`: no server has. `last-resort`: by old facts. */
export type PlacementReason = 'prefix' | 'hash' | 'last-resort'

/** A request as the placement sees it. */
export interface PlacementRequest {
  /** Plain name of the model or adapter. */
  readonly model: string
  /** True for a route of Ollama's API. */
  readonly needsOllamaRoutes: boolean
  readonly prompt: PromptBlocks
}

export interface Placement {
  readonly server: ModelServer
  readonly reason: PlacementReason
  /** Bytes of the prompt that the server has probably read before. */
  readonly matchedBytes: number
  readonly isLoaded: boolean
  /** Load of the server by its slots when it was chosen; below 1 it had a free slot. */
  readonly utilisation: number
}

/** Why no server can receive a request. */
export type Refusal =
  | { readonly kind: 'no-servers' }
  | { readonly kind: 'unknown-model'; readonly offered: readonly string[] }
  /** The servers with the model do not serve Ollama's routes. */
  | { readonly kind: 'other-api' }
  /** `retryMs`: milliseconds until a server may accept a request; null if that is not known. */
  | { readonly kind: 'unavailable'; readonly retryMs: number | null }

interface Candidate {
  readonly server: ModelServer
  /** Load by weight. */
  readonly load: number
  readonly isLoaded: boolean
  readonly matchedBytes: number
  /** Expected milliseconds until the server begins to read the prompt. */
  readonly waitMs: number
  /** Expected milliseconds until the first token. */
  readonly costMs: number
}

/** Chooses the server of a request by the expected time to its first token. */
export class Placer {
  readonly #index: PrefixIndex
  readonly #staleMs: number

  /** `staleMs`: age from which facts are only the last resort. */
  constructor(index: PrefixIndex, staleMs: number) {
    this.#index = index
    this.#staleMs = staleMs
  }

  /** Returns the server for a request, or why there is none. `tried`: servers that already failed for this request. */
  place(
    request: PlacementRequest,
    servers: Iterable<ModelServer>,
    tried: ReadonlySet<ModelServer> = new Set()
  ): Placement | Refusal {
    const all = [...servers]
    if (all.length === 0) return { kind: 'no-servers' }
    const having = all.filter(server => server.model(request.model) !== null || server.mayHave(request.model))
    if (having.length === 0) return { kind: 'unknown-model', offered: offeredBy(all) }
    const suited = request.needsOllamaRoutes ? having.filter(server => server.hasOllamaRoutes) : having
    if (suited.length === 0) return { kind: 'other-api' }
    const usable = suited.filter(server => server.weight > 0 && !tried.has(server) && server.waitMs() === 0)
    if (usable.length === 0) return { kind: 'unavailable', retryMs: soonest(suited) }
    const fresh = usable.filter(server => server.factsAgeMs <= this.#staleMs)
    const isLastResort = fresh.length === 0
    const candidates = this.#candidates(request, isLastResort ? usable : fresh)
    const chosen = choose(candidates, request.prompt)
    return {
      server: chosen.server,
      reason: isLastResort ? 'last-resort' : chosen.matchedBytes > 0 ? 'prefix' : 'hash',
      matchedBytes: chosen.matchedBytes,
      isLoaded: chosen.isLoaded,
      utilisation: chosen.server.load / chosen.server.slots
    }
  }

  /** Records that a server reads the prompt. */
  record({ model, prompt }: PlacementRequest, server: ModelServer): void {
    if (prompt.blocks.length > 0) this.#index.record(prompt.blocks, server.residency(model))
  }

  #candidates({ model, prompt }: PlacementRequest, servers: readonly ModelServer[]): Candidate[] {
    const matched =
      prompt.blocks.length === 0
        ? []
        : this.#index.match(
            prompt.blocks,
            servers.map(server => server.residency(model))
          )
    const usualMs = meanServiceMs(model, servers)
    return servers.map((server, at) => {
      const facts = server.model(model)
      const isLoaded = facts?.loaded ?? true
      const matchedBytes = (matched[at] ?? 0) * BLOCK_BYTES
      const speed = server.speed(model)
      const { load, slots } = server
      const queueMs = (Math.max(0, load - slots + 1) / slots) * (speed.measuredServiceMs ?? usualMs ?? speed.serviceMs)
      const adapterMs = (facts?.parent ?? null) === null || server.hasAdapter(model) ? 0 : ADAPTER_LOAD_MS
      const waitMs = queueMs + (isLoaded ? adapterMs : server.loadMs(model))
      // The requests of a batch share the device.
      const prefillMs = ((prompt.bytes - matchedBytes) / speed.prefillBytesPerMs) * (1 + load / slots)
      const costMs = waitMs + prefillMs
      return { server, load: load / server.weight, isLoaded, matchedBytes, waitMs, costMs }
    })
  }
}

/** Returns the best of at least one candidate. */
function choose(candidates: readonly Candidate[], prompt: PromptBlocks): Candidate {
  const within = [true, false].flatMap(loaded => withinBound(candidates.filter(({ isLoaded }) => isLoaded === loaded)))
  if (within.some(({ matchedBytes }) => matchedBytes >= MIN_MATCHED_SHARE * prompt.bytes && matchedBytes > 0)) {
    const least = Math.min(...within.map(({ costMs }) => costMs))
    // Conversations with the same beginning spread by their ends.
    return best(leastLoaded(within.filter(({ costMs }) => costMs <= least + 1)), prompt.last)
  }
  const least = Math.min(...within.map(({ waitMs }) => waitMs))
  return best(lessLoadedHalf(within.filter(({ waitMs }) => waitMs <= least + SAME_COST_MS)), prompt.first)
}

/** Returns the candidates below the bound. The one with the least load always is. */
function withinBound(candidates: readonly Candidate[]): readonly Candidate[] {
  const mean = candidates.reduce((sum, { load }) => sum + load, 0) / candidates.length
  return candidates.filter(({ load }) => load < LOAD_BOUND * mean + LOAD_MARGIN)
}

function leastLoaded(candidates: readonly Candidate[]): readonly Candidate[] {
  const least = Math.min(...candidates.map(({ load }) => load))
  return candidates.filter(({ load }) => load <= least)
}

/** Returns the half with less load, and every candidate with the same load as the last of that half. */
function lessLoadedHalf(candidates: readonly Candidate[]): readonly Candidate[] {
  const loads = candidates.map(({ load }) => load).sort((a, b) => a - b)
  const bound = loads[Math.ceil(loads.length / 2) - 1] as number
  return candidates.filter(({ load }) => load <= bound)
}

function best(candidates: readonly Candidate[], key: number): Candidate {
  const score = ({ server }: Candidate) => rendezvousScore(server.name, server.weight, key)
  return candidates.reduce((a, b) => (score(b) > score(a) ? b : a))
}

/** Returns the mean service time of a model over the servers that have measured it; undefined if none has. */
function meanServiceMs(model: string, servers: readonly ModelServer[]): number | undefined {
  const measured = servers.flatMap(server => server.speed(model).measuredServiceMs ?? [])
  return measured.length === 0 ? undefined : measured.reduce((sum, each) => sum + each, 0) / measured.length
}

function soonest(servers: readonly ModelServer[]): number | null {
  const waits = servers.filter(({ weight }) => weight > 0).map(server => server.waitMs())
  const positive = waits.filter(wait => wait > 0)
  return positive.length === 0 ? null : Math.min(...positive)
}

/** Returns the names of all models that any server reports, sorted. */
function offeredBy(servers: readonly ModelServer[]): readonly string[] {
  return [...new Set(servers.flatMap(server => [...(server.facts?.models.keys() ?? [])]))].sort()
}
