import { MODEL_SERVER_APIS } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { ModelServer } from './model-server.ts'
import type { RouterMetrics } from './router-metrics.ts'

/** Topic of the servers and their load. */
export const SERVERS_TOPIC = 'inference-router.servers'

const model = t.object({
  name: t.string(),
  loaded: t.boolean({ description: 'Whether the model is in memory.' }),
  parent: t.optional(t.string({ description: 'Base model, if this is an adapter.' })),
  service_ms: t.optional(t.number({ description: 'Mean milliseconds of an answer.' })),
  prefill_bytes_per_ms: t.optional(t.number({ description: 'Bytes of a prompt that are read per millisecond.' }))
})

const server = t.object({
  name: t.string({ description: 'Name in the header x-svc-server.' }),
  url: t.string(),
  api: t.enum(MODEL_SERVER_APIS),
  source: t.string({ description: 'settings, or the source that contributes the server, such as mesh.' }),
  status: t.enum(['ready', 'paused', 'open', 'stale', 'unknown', 'drained'], {
    description:
      'ready: receives requests. paused: requested a pause with Retry-After. open: failed three times, and is tried again later. stale: its facts are old, so it is the last resort. unknown: has not reported anything. drained: has weight 0.'
  }),
  detail: t.string({ description: 'State of the server in one sentence.' }),
  load: t.integer({ description: 'Running and waiting requests.' }),
  slots: t.integer({ description: 'Requests that it answers concurrently.' }),
  weight: t.number(),
  in_flight: t.integer({ description: 'Requests of this router.' }),
  cache_usage: t.optional(t.number({ description: 'Used part of the key-value cache, 0 to 1.' })),
  facts_age_ms: t.optional(t.integer({ description: 'Age of the reported facts in milliseconds.' })),
  requests: t.integer({ description: 'Requests that were sent to it.' }),
  failures: t.integer({ description: 'Requests that it failed.' }),
  retries: t.integer({ description: 'Requests that then went to another server.' }),
  prefix_hit_rate: t.optional(
    t.number({ description: 'Fraction of prompt bytes that it had probably read before, 0 to 1.' })
  ),
  model_names: t.string({ description: 'Names of the models, loaded ones first.' }),
  models: t.array(model)
})

export const modelServers = defineOperation({
  id: 'model.servers',
  summary: 'Show the model servers of the router and their load',
  input: t.object({
    name: t.optional(t.string({ minLength: 1, description: 'Name of a server; default: all.' }))
  }),
  output: t.object({ servers: t.array(server) }),
  effect: 'read',
  watch: { on: [SERVERS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/models/servers' },
    mcp: {
      name: 'svc_model_servers',
      toolsets: ['models'],
      use: 'To see which server is slow or full. Models of this process: svc_model_list.'
    },
    rpc: true,
    cli: {
      command: 'model servers',
      args: ['name'],
      view: {
        rows: 'servers',
        columns: ['name', 'api', 'status', 'load', 'slots', 'requests', 'failures', 'prefix_hit_rate', 'model_names']
      }
    }
  }
})

export interface ShownServers {
  readonly servers: Iterable<ModelServer>
  readonly metrics: RouterMetrics
  /** Age in milliseconds from which facts are old. */
  readonly staleMs: number
  /** Reads the facts of all servers, if those of one were never read. */
  refresh(signal: AbortSignal): Promise<void>
}

export function showServers({ servers, metrics, staleMs, refresh }: ShownServers): Handler<typeof modelServers> {
  return async ({ name }, call) => {
    await refresh(call.signal)
    const shown = [...servers].filter(each => name === undefined || each.name === name)
    return { servers: shown.map(each => describe(each, metrics, staleMs)) }
  }
}

function describe(each: ModelServer, metrics: RouterMetrics, staleMs: number) {
  const { facts, factsAgeMs } = each
  const { requests, failures, retries, promptBytes, matchedBytes } = metrics.totals(each.name)
  const models = [...(facts?.models.entries() ?? [])]
    .map(([key, { name, loaded, parent }]) => ({
      name,
      loaded,
      ...(parent === null ? {} : { parent }),
      ...speedOf(each, key)
    }))
    .sort((a, b) => Number(b.loaded) - Number(a.loaded) || a.name.localeCompare(b.name))
  const status = statusOf(each, staleMs)
  return {
    name: each.name,
    url: each.url,
    api: each.api,
    source: each.source,
    status,
    detail: detailOf(each, status),
    load: each.load,
    slots: each.slots,
    weight: each.weight,
    in_flight: each.inFlight,
    ...((facts?.cacheUsage ?? null) === null ? {} : { cache_usage: facts?.cacheUsage as number }),
    ...(facts === null ? {} : { facts_age_ms: Math.round(factsAgeMs) }),
    requests,
    failures,
    retries,
    ...(promptBytes === 0 ? {} : { prefix_hit_rate: matchedBytes / promptBytes }),
    model_names: models.map(({ name }) => name).join(', '),
    models
  }
}

function speedOf(each: ModelServer, key: string) {
  const speed = each.speeds.get(key)
  if (speed?.measuredServiceMs === undefined) return {}
  return { service_ms: speed.measuredServiceMs, prefill_bytes_per_ms: speed.prefillBytesPerMs }
}

type Status = 'ready' | 'paused' | 'open' | 'stale' | 'unknown' | 'drained'

export function statusOf(each: ModelServer, staleMs: number): Status {
  if (each.weight === 0) return 'drained'
  if (each.breaker.state === 'open') return 'open'
  if (each.waitMs() > 0) return 'paused'
  if (each.facts === null) return 'unknown'
  return each.factsAgeMs > staleMs ? 'stale' : 'ready'
}

function detailOf(each: ModelServer, status: Status): string {
  const problem = each.problem === null ? '' : `: ${each.problem}`
  const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`
  switch (status) {
    case 'ready':
      return each.problem === null ? 'receives requests' : `receives requests; the last facts failed${problem}`
    case 'paused':
      return `accepts no requests for ${seconds(each.waitMs())}`
    case 'open':
      return `failed repeatedly; tried again in ${seconds(each.waitMs())}${problem}`
    case 'stale':
      return `last facts ${seconds(each.factsAgeMs)} ago${problem}`
    case 'unknown':
      return `has not reported anything${problem}`
    case 'drained':
      return 'has weight 0 and receives no new requests'
  }
}
