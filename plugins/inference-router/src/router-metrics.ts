import type { ModelServer } from './model-server.ts'
import type { Placement } from './placement.ts'
import type { PrefixIndex } from './prefix-index.ts'

/** Upper bounds of the buckets in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const MS = 1_000

interface ServerCounts {
  readonly outcomes: Map<string, number>
  readonly retries: Map<string, number>
  readonly placements: Map<string, number>
  promptBytes: number
  matchedBytes: number
  /** Requests by bucket, not cumulative; the last one has no upper bound. */
  readonly firstByte: number[]
  firstByteSeconds: number
}

/** Counts of one server, for `model.servers`. */
export interface ServerTotals {
  readonly requests: number
  /** Requests that ended without a complete answer because of the server. */
  readonly failures: number
  readonly retries: number
  readonly promptBytes: number
  readonly matchedBytes: number
}

const FAILURES = ['timeout', 'cut', 'server_error', 'failed']

/** Counts of the router by server. */
export class RouterMetrics {
  readonly #servers = new Map<string, ServerCounts>()

  /** A request was sent. */
  placed({ server, reason, matchedBytes }: Placement, promptBytes: number): void {
    const counts = this.#of(server.name)
    add(counts.placements, reason)
    counts.promptBytes += promptBytes
    counts.matchedBytes += matchedBytes
  }

  /** Another server is tried after this one. */
  retried(server: string, why: string): void {
    add(this.#of(server).retries, why)
  }

  /** The first byte of an answer arrived. */
  began(server: string, ms: number): void {
    const counts = this.#of(server)
    const found = BUCKETS.findIndex(bound => ms / MS <= bound)
    const bucket = found < 0 ? BUCKETS.length : found
    counts.firstByte[bucket] = (counts.firstByte[bucket] ?? 0) + 1
    counts.firstByteSeconds += ms / MS
  }

  /** A request at a server ended. */
  ended(server: string, outcome: string): void {
    add(this.#of(server).outcomes, outcome)
  }

  totals(server: string): ServerTotals {
    const counts = this.#of(server)
    const sum = (values: Map<string, number>): number => [...values.values()].reduce((a, b) => a + b, 0)
    return {
      requests: sum(counts.placements),
      failures: FAILURES.reduce((total, outcome) => total + (counts.outcomes.get(outcome) ?? 0), 0),
      retries: sum(counts.retries),
      promptBytes: counts.promptBytes,
      matchedBytes: counts.matchedBytes
    }
  }

  /** Forgets servers that no longer exist. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#servers.keys()) if (!names.has(name)) this.#servers.delete(name)
  }

  /** Returns the metrics in the Prometheus text format. */
  render(servers: Iterable<ModelServer>, index: PrefixIndex, inFlight: number): string {
    const lines = new Lines()
    const all = [...servers]
    const each = (name: string, help: string, value: (server: ModelServer) => number | null): void => {
      lines.head(name, 'gauge', help)
      for (const server of all) {
        const shown = value(server)
        if (shown !== null) lines.sample(name, { server: server.name }, shown)
      }
    }
    each('server_up', 'Whether a server accepts requests.', server => (server.waitMs() === 0 ? 1 : 0))
    each('server_load', 'Running and waiting requests of a server.', server => server.load)
    each('server_slots', 'Requests that a server answers concurrently.', server => server.slots)
    each('server_in_flight', 'Requests of this router at a server.', server => server.inFlight)
    each('server_facts_age_seconds', 'Age of the facts about a server.', server =>
      server.facts === null ? null : server.factsAgeMs / MS
    )
    each('server_cache_usage', 'Used part of the key-value cache, 0 to 1.', server => server.facts?.cacheUsage ?? null)
    lines.head('in_flight', 'gauge', 'Requests in flight.')
    lines.sample('in_flight', {}, inFlight)
    lines.head('prefix_blocks', 'gauge', 'Blocks in the prefix index.')
    lines.sample('prefix_blocks', {}, index.size)
    this.#counters(lines)
    this.#firstByte(lines)
    return lines.text()
  }

  #counters(lines: Lines): void {
    const counter = (name: string, help: string, label: string, of: (counts: ServerCounts) => Map<string, number>) => {
      lines.head(name, 'counter', help)
      for (const [server, counts] of this.#servers) {
        for (const [value, count] of of(counts)) lines.sample(name, { server, [label]: value }, count)
      }
    }
    counter('requests_total', 'Requests at servers by outcome.', 'outcome', ({ outcomes }) => outcomes)
    counter('retries_total', 'Requests that left a server for another one.', 'reason', ({ retries }) => retries)
    counter('placements_total', 'Requests by reason of the choice.', 'reason', ({ placements }) => placements)
    lines.head('prompt_bytes_total', 'counter', 'Bytes of prompts.')
    for (const [server, { promptBytes }] of this.#servers) lines.sample('prompt_bytes_total', { server }, promptBytes)
    lines.head('prefix_bytes_total', 'counter', 'Bytes of prompts that the server had probably read before.')
    for (const [server, { matchedBytes }] of this.#servers) lines.sample('prefix_bytes_total', { server }, matchedBytes)
  }

  #firstByte(lines: Lines): void {
    const name = 'first_byte_seconds'
    lines.head(name, 'histogram', 'Time from a request to the first byte of its answer.')
    for (const [server, { firstByte, firstByteSeconds }] of this.#servers) {
      let count = 0
      for (const [at, bound] of [...BUCKETS, '+Inf'].entries()) {
        count += firstByte[at] ?? 0
        lines.sample(`${name}_bucket`, { server, le: String(bound) }, count)
      }
      lines.sample(`${name}_sum`, { server }, firstByteSeconds)
      lines.sample(`${name}_count`, { server }, count)
    }
  }

  #of(server: string): ServerCounts {
    const known = this.#servers.get(server)
    if (known !== undefined) return known
    const counts: ServerCounts = {
      outcomes: new Map(),
      retries: new Map(),
      placements: new Map(),
      promptBytes: 0,
      matchedBytes: 0,
      firstByte: [],
      firstByteSeconds: 0
    }
    this.#servers.set(server, counts)
    return counts
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const PREFIX = 'svc_router_'

/** Lines of the Prometheus text format. */
class Lines {
  readonly #lines: string[] = []

  head(name: string, type: string, help: string): void {
    this.#lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`)
  }

  sample(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    const shown = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
    this.#lines.push(`${PREFIX}${name}${shown.length === 0 ? '' : `{${shown.join(',')}}`} ${value}`)
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
