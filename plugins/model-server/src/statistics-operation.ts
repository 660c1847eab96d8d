import type { LoadedModel } from '@svc/contracts'
import { defined, defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import type { ModelActivity } from './model-activity.ts'
import type { ServedModel } from './served-model.ts'
import type { ModelSlot, ServedModels } from './served-models.ts'

/** Topic of the statistics. */
export const STATISTICS_TOPIC = 'model-server.stats'
/** Topic of the served models, their state and their adapters. */
export const MODELS_TOPIC = 'model-server.models'

const percentiles = t.object({ p50: t.number(), p95: t.number() })

const cache = t.object({
  positions: t.integer({ description: 'Cache positions of all slots.' }),
  used: t.integer({ description: 'Positions that hold a token that is in use or reusable.' }),
  hit_rate: t.number({ description: 'Fraction of prompt tokens read from the cache since the load, 0 to 1.' })
})

const point = t.object({
  at: t.integer({ description: 'Start of the second, Unix milliseconds.' }),
  tokens_per_second: t.number(),
  prompt_tokens_per_second: t.number(),
  running: t.integer(),
  queue: t.integer()
})

const adapterStatistics = t.object({
  name: t.string(),
  model: t.string({ description: 'Name of the model that clients send.' }),
  base: t.string({ description: 'Model that the adapter belongs to.' }),
  bytes: t.integer({ description: 'Memory of the factors.' }),
  requests: t.integer(),
  completion_tokens: t.integer()
})

const modelStatistics = t.object({
  name: t.string({ description: 'Name of the model that clients send.' }),
  status: t.enum(['idle', 'loading', 'ready', 'unloaded', 'failed']),
  detail: t.string({ description: 'State of the model in one sentence.' }),
  source: t.enum(['primary', 'setting', 'added', 'pulled', 'copied', 'created'], {
    description: 'primary: the model of the setting model. setting: of the setting models. Others: of a command.'
  }),
  device: t.optional(t.string()),
  precision: t.optional(t.string()),
  memory_bytes: t.integer({ description: 'Memory of weights and caches; 0 while the model is not loaded.' }),
  weight_bytes: t.integer(),
  cache_bytes: t.integer(),
  expires_at: t.nullable(t.string({ description: 'When the idle model is unloaded; null for never.' })),
  slots: t.integer({ description: 'Answers that can be generated concurrently; 0 while the model is not loaded.' }),
  running: t.integer({ description: 'Answers that are being generated.' }),
  queue: t.integer({ description: 'Requests that wait for a slot.' }),
  requests: t.integer({ description: 'Completions begun since the process started.' }),
  outcomes: t.record(t.integer(), { description: 'Ended completions by outcome, such as stop, length or busy.' }),
  prompt_tokens: t.integer(),
  cached_tokens: t.integer({ description: 'Prompt tokens that were read from the cache.' }),
  completion_tokens: t.integer(),
  tokens_per_second: t.number({ description: 'Generated tokens, mean of the last three seconds.' }),
  prompt_tokens_per_second: t.number({ description: 'Computed prompt tokens, mean of the last three seconds.' }),
  first_token_ms: t.optional(percentiles),
  queue_ms: t.optional(percentiles),
  prefill_ms: t.optional(percentiles),
  decode_ms: t.optional(t.object({ p50: t.number(), p95: t.number() }, { description: 'Milliseconds per token.' })),
  batch_size: t.optional(t.number({ description: 'Mean number of sequences in a decoder run.' })),
  draft_acceptance: t.optional(t.number({ description: 'Fraction of drafted tokens that were accepted, 0 to 1.' })),
  cache: t.optional(cache),
  adapters: t.array(adapterStatistics),
  history: t.array(point, { description: 'The last 60 seconds, oldest first.' })
})

export const modelStats = defineOperation({
  id: 'model.stats',
  summary: 'Show load, memory and speed of the served models',
  description:
    'Counters are since the process started; percentiles are over the last 512 completions; cache and batch size are since the load.',
  input: t.object({
    model: t.optional(t.string({ minLength: 1, description: 'Name of the model; default: all.' }))
  }),
  output: t.object({ models: t.array(modelStatistics) }),
  effect: 'read',
  watch: { on: [STATISTICS_TOPIC, MODELS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/models/stats' },
    mcp: {
      name: 'svc_model_stats',
      toolsets: ['models'],
      use: 'Numbers of requests, tokens per second and memory. Which models there are: svc_model_list.'
    },
    rpc: true,
    cli: {
      command: 'model stats',
      args: ['model'],
      view: {
        rows: 'models',
        columns: [
          'name',
          'status',
          'device',
          'precision',
          'memory_bytes',
          'running',
          'queue',
          'requests',
          'tokens_per_second'
        ]
      }
    }
  }
})

export function showStatistics(models: ServedModels): Handler<typeof modelStats> {
  return async ({ model: requested }) => {
    const slots = await models.slots()
    const named = requested === undefined ? slots : slots.filter(({ served }) => served.has(requested))
    return { models: named.map(statisticsOf) }
  }
}

function statisticsOf({ served, weights, activity, source }: ModelSlot): Infer<typeof modelStatistics> {
  const { state, known, name } = served
  const model = state.status === 'ready' ? state.model : undefined
  const engine = model?.statistics()
  const capacity = model?.capacity()
  const { firstToken, queue, prefill, decode } = activity.durations()
  const rates = activity.rates()
  const expiresAt = model === undefined ? null : weights.expiresAt
  return {
    name,
    status: state.status,
    detail: served.describe(),
    source,
    ...defined({ device: known?.info.device, precision: known?.info.precision }),
    memory_bytes: (engine?.weightBytes ?? 0) + (engine?.cacheBytes ?? 0),
    weight_bytes: engine?.weightBytes ?? 0,
    cache_bytes: engine?.cacheBytes ?? 0,
    expires_at: expiresAt?.toISOString() ?? null,
    slots: capacity?.slots ?? 0,
    running: capacity?.active ?? 0,
    queue: capacity?.waiting ?? 0,
    ...totalsOf(activity),
    tokens_per_second: rounded(rates.tokens),
    prompt_tokens_per_second: rounded(rates.promptTokens),
    ...defined({ first_token_ms: firstToken, queue_ms: queue, prefill_ms: prefill, decode_ms: decode }),
    ...(engine === undefined ? {} : engineFields(engine)),
    adapters: adaptersOf(served, activity),
    history: activity.history().map(each => ({
      at: each.at,
      tokens_per_second: each.tokens,
      prompt_tokens_per_second: each.promptTokens,
      running: each.running,
      queue: each.queue
    }))
  }
}

function totalsOf(activity: ModelActivity) {
  const sum = { requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 }
  const outcomes: Record<string, number> = {}
  for (const totals of activity.totals().values()) {
    sum.requests += totals.requests
    sum.prompt_tokens += totals.promptTokens
    sum.cached_tokens += totals.cachedTokens
    sum.completion_tokens += totals.completionTokens
    for (const [outcome, count] of Object.entries(totals.outcomes)) outcomes[outcome] = (outcomes[outcome] ?? 0) + count
  }
  return { ...sum, outcomes }
}

function engineFields(engine: ReturnType<LoadedModel['statistics']>) {
  const { decodeRuns, decodedSequences, draftedTokens, acceptedTokens, promptTokens, cachedPromptTokens } = engine
  const prompts = promptTokens + cachedPromptTokens
  return {
    ...(decodeRuns === 0 ? {} : { batch_size: rounded(decodedSequences / decodeRuns) }),
    ...(draftedTokens === 0 ? {} : { draft_acceptance: rounded(acceptedTokens / draftedTokens) }),
    cache: {
      positions: engine.cachePositions,
      used: engine.cachePositionsUsed,
      hit_rate: prompts === 0 ? 0 : rounded(cachedPromptTokens / prompts)
    }
  }
}

function adaptersOf({ name: model, known }: ServedModel, activity: ModelActivity) {
  return (known?.adapters ?? []).map(({ name, sizeBytes }) => {
    const totals = activity.totals().get(name)
    return {
      name,
      model: `${model}:${name}`,
      base: model,
      bytes: sizeBytes,
      requests: totals?.requests ?? 0,
      completion_tokens: totals?.completionTokens ?? 0
    }
  })
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
