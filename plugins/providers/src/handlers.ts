import { type InferenceChatRequest, isOffered, type LocalLane } from '@svc/contracts'
import { closest, type Handler, isSvcError } from '@svc/plugin-sdk'
import { CATEGORIES } from './choice/categories.ts'
import { choose, findHosted, rank, suited } from './choice/choose.ts'
import type { ChoiceInput } from './choice/input.ts'
import { scoreOf } from './choice/score.ts'
import { problemWith } from './choice/usable.ts'
import { providerErrors } from './errors.ts'
import { listNote, localWarning } from './notes.ts'
import type { activeModel, listModels, modelUsage, setModel, suggestModel } from './operations.ts'
import type { Plan, Planner } from './planner.ts'
import { PROVIDERS } from './provider-list.ts'
import { hasUnknownPrice, type ModelEntry, nameOf, toEntry } from './registry/entry.ts'
import type { Selections } from './selections.ts'
import type { UsageLedger, UsageRow } from './usage/ledger.ts'
import { bestProvider } from './usage/standing.ts'

export interface HandlerParts {
  readonly planner: Planner
  readonly ledger: UsageLedger
  readonly selections: Selections
  readonly local: () => LocalLane
  /** Called after a selection has changed. */
  readonly changed: () => void
}

const UNLIMITED = { remaining: null, isRateLimited: false, retryAfterMs: null } as const
const MAX_ALTERNATIVES = 10
const DAY_MS = 86_400_000
const CHARACTERS_PER_TOKEN = 4

export function listHandler({ planner, local }: HandlerParts): Handler<typeof listModels> {
  return async ({ provider, all, refresh, limit }, call) => {
    const plan = await planner.plan({ messages: [], signal: call.signal }, local(), { refresh })
    const rows = [...plan.input.models, ...otherLocalModels(plan.input)]
      .filter(entry => provider === undefined || entry.provider === provider)
      .map(entry => toRow(entry, plan))
      .filter(({ usable }) => all || usable)
    const { catalogAt, problems } = plan.registry
    const models = rows.slice(0, limit)
    return {
      models,
      total: rows.length,
      catalog_at: catalogAt === null ? null : new Date(catalogAt).toISOString(),
      problems: [...problems],
      note: listNote(plan.input, { shown: models.length, total: rows.length, all, problems })
    }
  }
}

/** Models that the local server offers in addition to those of the registry. */
function otherLocalModels({ models, local }: ChoiceInput): ModelEntry[] {
  if (!local.isAllowed) return []
  const known = [local.model, ...models.filter(({ provider }) => provider === 'ollama').map(({ id }) => id)]
  return local.offered.filter(id => !isOffered(id, known)).map(id => toEntry({ providerType: 'ollama', id }))
}

export function suggestHandler({ planner, local }: HandlerParts): Handler<typeof suggestModel> {
  return async ({ task, complexity, prompt_tokens, tools, json, latency_critical, session_id }, call) => {
    const request: InferenceChatRequest = {
      messages: [{ role: 'user', content: ' '.repeat(Math.min(prompt_tokens, 4_000_000) * CHARACTERS_PER_TOKEN) }],
      ...(tools ? { tools: [{ name: 'tool', parameters: {} }] } : {}),
      ...(json ? { format: 'json' as const } : {}),
      purpose: {
        category: task,
        complexity,
        latencyCritical: latency_critical,
        ...(session_id === undefined ? {} : { session: session_id })
      },
      signal: call.signal
    }
    const { input, standings, access } = await planner.plan(request, local())
    const { entry, rule, warning } = choose(input)
    const usable = input.models.filter(each => each.provider !== 'ollama' && problemOf(each, input) === null)
    const context = { ...input.score, strength: CATEGORIES[input.category].strength }
    const alternatives = rank(suited(usable, input.category), input).slice(0, MAX_ALTERNATIVES)
    return {
      model: nameOf(entry),
      provider: entry.provider,
      rule,
      warning: warning ?? (entry.provider === 'ollama' && rule === 'local' ? localWarning(input) : null),
      best_provider: bestProvider(
        standings,
        name => access.hasKey(name) && access.isAllowed(name),
        input.local.isAllowed
      ),
      alternatives: alternatives.map(each => ({
        name: nameOf(each),
        provider: each.provider,
        score: Math.round(scoreOf(each, standings.of(each), context) * 1e4) / 1e4,
        is_free: each.isFree,
        cost_per_1k: hasUnknownPrice(each) ? null : each.costPer1k
      }))
    }
  }
}

export function setHandler({ planner, selections, local, changed }: HandlerParts): Handler<typeof setModel> {
  return async ({ model, session_id }, call) => {
    const before = await selections.of(session_id)
    const whose = session_id === undefined ? 'all sessions' : `session ${session_id}`
    let name: string | null = null
    if (model !== undefined) {
      const { input } = await planner.plan({ messages: [], signal: call.signal }, local())
      name = selectable(model, input)
    }
    await selections.select(session_id, name)
    changed()
    const text =
      name === null ? `The model of ${whose} is chosen for each request.` : `${name} answers the requests of ${whose}.`
    return { model: name, previous: before?.model ?? null, session_id: session_id ?? null, text }
  }
}

/** Returns the name of a model that may be selected. Throws `PRV_MODEL_UNKNOWN` and `PRV_MODEL_REFUSED`. */
function selectable(model: string, input: ChoiceInput): string {
  const hosted = findHosted(model, input)
  const { offered } = input.local
  const isLocal = isOffered(model, offered) || model === input.local.model
  if (hosted === undefined && !isLocal) {
    const names = [...input.models.flatMap(entry => [nameOf(entry), entry.id]), ...offered]
    const similar = closest(model.slice(0, 100), names) ?? null
    const meant = similar === null ? '' : `did you mean "${similar}"? `
    throw providerErrors.create('PRV_MODEL_UNKNOWN', `no provider and no local server offers the model "${model}"`, {
      data: { model, similar },
      hint: `${meant}svc models list --all shows the models, and models.toml adds further ones`
    })
  }
  const name = hosted === undefined || isLocal ? model : nameOf(hosted)
  try {
    // A model without calls left may be selected for later.
    choose({ ...input, requested: null, selected: name, standingOf: () => UNLIMITED })
    return name
  } catch (error) {
    if (!isSvcError(error)) throw error
    throw providerErrors.create('PRV_MODEL_REFUSED', error.message, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      data: { model: name },
      cause: error
    })
  }
}

export function activeHandler({ planner, selections, local }: HandlerParts): Handler<typeof activeModel> {
  return async ({ session_id }, call) => {
    const purpose = session_id === undefined ? {} : { session: session_id }
    const [{ input }, selected] = await Promise.all([
      planner.plan({ messages: [], purpose, signal: call.signal }, local()),
      selections.of(session_id)
    ])
    const { entry, rule, warning } = choose(input)
    return {
      model: nameOf(entry),
      provider: entry.provider,
      rule,
      selected: selected?.model ?? null,
      selected_for: selected === null ? null : selected.session === null ? ('all' as const) : ('session' as const),
      warning: warning ?? (entry.provider === 'ollama' && rule === 'local' ? localWarning(input) : null)
    }
  }
}

export function usageHandler({ planner, ledger, local }: HandlerParts): Handler<typeof modelUsage> {
  return async ({ days }, call) => {
    const { standings, input, access } = await planner.plan({ messages: [], signal: call.signal }, local())
    const dates = recentDates(ledger, days)
    const rows = await Promise.all(dates.map(at => ledger.rows(new Date(at).toISOString().slice(0, 10))))
    const usage = rows.flatMap(usageOfDay)
    return {
      usage,
      providers: PROVIDERS.filter(name => access.isAllowed(name)).map(provider => ({
        provider,
        has_key: provider === 'ollama' || access.hasKey(provider),
        calls: standings.calls(provider),
        remaining: standings.remaining(provider),
        limited: standings.isLimited(provider)
      })),
      days: dates.map((at, index) => totalOf(at, rows[index] ?? [])),
      total_cost_usd: usage.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
      best_provider: bestProvider(
        standings,
        name => access.hasKey(name) && access.isAllowed(name),
        input.local.isAllowed
      ),
      note: usage.length === 0 ? `No model has been called ${days === 1 ? 'today (UTC)' : `in ${days} days`}.` : ''
    }
  }
}

/** Returns the begin of the last UTC days in Unix milliseconds, today last. */
export function recentDates(ledger: UsageLedger, days: number): number[] {
  const today = Date.parse(ledger.today())
  return Array.from({ length: days }, (_, back) => today - back * DAY_MS).reverse()
}

/** Returns the usage of the last UTC days by day, provider and model. */
export async function usageRows(ledger: UsageLedger, days: number) {
  const rows = await Promise.all(
    recentDates(ledger, days).map(at => ledger.rows(new Date(at).toISOString().slice(0, 10)))
  )
  return rows.flatMap(usageOfDay)
}

function usageOfDay(rows: readonly UsageRow[]) {
  return sumByModel(rows).map(({ until, ...row }) => ({ ...row, limited: until > Date.now() }))
}

export function totalOf(at: number, rows: readonly UsageRow[]) {
  const sum = (value: (row: UsageRow) => number): number => rows.reduce((total, row) => total + value(row), 0)
  return {
    at,
    calls: sum(row => row.calls),
    tokens: sum(row => row.tokens_in + row.tokens_out),
    cost_usd: sum(row => row.cost_usd)
  }
}

interface ModelTotal {
  readonly key: string
  readonly provider: string
  readonly model: string
  readonly date: string
  readonly calls: number
  readonly tokens_in: number
  readonly tokens_out: number
  readonly cost_usd: number
  readonly estimated_cost_usd: number
  readonly provider_reported_cost_usd: number | null
  readonly last_429: number | null
  /** Unix milliseconds of the end of the cool-down. */
  readonly until: number
}

/** Sums the rows of a day by provider and model. */
function sumByModel(rows: readonly UsageRow[]): ModelTotal[] {
  const totals = new Map<string, ModelTotal>()
  for (const row of rows) {
    const { provider, model, date } = row
    const key = `${date} ${provider}/${model}`
    const before = totals.get(key)
    const reported = row.provider_reported_cost_usd
    totals.set(key, {
      key,
      provider,
      model,
      date,
      calls: (before?.calls ?? 0) + row.calls,
      tokens_in: (before?.tokens_in ?? 0) + row.tokens_in,
      tokens_out: (before?.tokens_out ?? 0) + row.tokens_out,
      cost_usd: (before?.cost_usd ?? 0) + row.cost_usd,
      estimated_cost_usd: (before?.estimated_cost_usd ?? 0) + row.estimated_cost_usd,
      provider_reported_cost_usd:
        reported === null
          ? (before?.provider_reported_cost_usd ?? null)
          : (before?.provider_reported_cost_usd ?? 0) + reported,
      last_429: Math.max(before?.last_429 ?? 0, row.last_429 ?? 0) || null,
      until: Math.max(before?.until ?? 0, row.cool_down_until ?? 0)
    })
  }
  return [...totals.values()]
}

/** Returns why the next request could not use a model; null if it could. */
function problemOf(entry: ModelEntry, input: ChoiceInput): string | null {
  const { local } = input
  const isThere = entry.id === local.model ? local.isReady : isOffered(entry.id, local.offered)
  if (entry.provider === 'ollama' && local.isAllowed && !isThere) return 'no local model server offers it now'
  return problemWith(entry, input)?.message ?? null
}

export function toRow(entry: ModelEntry, { input, standings }: Plan) {
  const reason = problemOf(entry, input)
  const { capabilities: can } = entry
  return {
    name: nameOf(entry),
    id: entry.id,
    canonical_slug: entry.canonicalSlug,
    provider: entry.provider,
    provider_type: entry.providerType,
    usable: reason === null,
    reason,
    is_free: entry.isFree,
    cost_per_1k: hasUnknownPrice(entry) ? null : entry.costPer1k,
    cost_per_1k_input: hasUnknownPrice(entry) ? null : entry.costPer1kInput,
    cost_per_1k_output: hasUnknownPrice(entry) ? null : entry.costPer1kOutput,
    observed_cost_per_1k: entry.observedCostPer1k,
    cost_per_1k_cache_creation: entry.costPer1kCacheCreation,
    cost_per_1k_cache_read: entry.costPer1kCacheRead,
    supports_prompt_caching: entry.supportsPromptCaching,
    pricing_source: entry.pricingSource,
    price_as_of: entry.priceAsOf,
    price_source: entry.priceSource,
    max_tokens: entry.maxTokens,
    remaining: standings.of(entry).remaining,
    strengths: [...entry.strengths],
    supported_parameters: [...entry.supportedParameters],
    capabilities: {
      supports_json: can.supportsJson,
      supports_vision: can.supportsVision,
      supports_native_tools: can.supportsNativeTools,
      supports_tool_use: can.supportsToolUse,
      reasoning: can.reasoning,
      web_search: can.webSearch,
      image_generation: can.imageGeneration,
      audio_input: can.audioInput,
      audio_output: can.audioOutput,
      max_context: can.maxContext,
      tier: can.tier,
      rate_limit_rpm: can.rateLimitRpm,
      rate_limit_rpd: can.rateLimitRpd,
      latency_p50_ms: can.latencyP50Ms,
      is_moderated: can.isModerated,
      uptime_score: can.uptimeScore
    }
  }
}
