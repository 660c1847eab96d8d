import { type Delta, DeltaLog, type Handler } from '@svc/plugin-sdk'
import { type HandlerParts, recentDates, toRow, totalOf, usageRows } from '../handlers.ts'
import { PROVIDERS } from '../provider-list.ts'
import type { HiddenQuotas } from './hidden-quotas.ts'
import type { hideQuota, modelsFeed, quotaInbox, usageFeed, usageSummary } from './operations.ts'

const FEED_DAYS = 30
const DAY_MS = 86_400_000

export function usageSummaryHandler({ planner, ledger }: HandlerParts): Handler<typeof usageSummary> {
  return async ({ days: count }, { signal }) => {
    const { standings, access } = await planner.quotas(signal)
    const days = await Promise.all(
      recentDates(ledger, count).map(async at =>
        totalOf(at, await ledger.rows(new Date(at).toISOString().slice(0, 10)))
      )
    )
    const providers = PROVIDERS.filter(name => access.isAllowed(name)).map(provider => ({
      provider,
      has_key: provider === 'ollama' || access.hasKey(provider),
      calls: standings.calls(provider),
      remaining: standings.remaining(provider),
      limited: standings.isLimited(provider)
    }))
    const today = days.at(-1)
    return {
      cost_today_usd: today?.cost_usd ?? 0,
      calls_today: today?.calls ?? 0,
      tokens_today: today?.tokens ?? 0,
      total_cost_usd: days.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
      providers,
      active_providers: providers.filter(({ provider, has_key, calls }) =>
        provider === 'ollama' ? calls > 0 : has_key || calls > 0
      ),
      days
    }
  }
}

export function usageFeedHandler({ ledger }: HandlerParts): Handler<typeof usageFeed> {
  const log = new DeltaLog<Awaited<ReturnType<typeof usageRows>>[number]>()
  return async ({ since, limit }) => {
    log.replaceAll(await usageRows(ledger, FEED_DAYS), ({ key }) => key)
    return copied(log.read(since, limit))
  }
}

export function modelsFeedHandler({ planner, local }: HandlerParts): Handler<typeof modelsFeed> {
  const log = new DeltaLog<ReturnType<typeof compact>>()
  return async ({ since, limit }, { signal }) => {
    const plan = await planner.plan({ messages: [], signal }, local())
    const rows = plan.input.models.map(entry => toRow(entry, plan)).filter(({ usable }) => usable)
    log.replaceAll(rows.map(compact), ({ name }) => name)
    return copied(log.read(since, limit))
  }
}

function compact({
  name,
  provider,
  cost_per_1k_input,
  cost_per_1k_output,
  price_as_of,
  capabilities,
  remaining
}: ReturnType<typeof toRow>) {
  return {
    name,
    provider,
    cost_per_1k_input,
    cost_per_1k_output,
    price_as_of,
    max_context: capabilities.max_context,
    remaining
  }
}

function copied<Row>({ upsert, remove, ...delta }: Delta<Row>) {
  return { ...delta, upsert: [...upsert], remove: [...remove] }
}

export function quotaInboxHandler({ planner }: HandlerParts, hidden: HiddenQuotas): Handler<typeof quotaInbox> {
  /** When each limit was first seen used up, by day and limit. */
  const seen = new Map<string, number>()
  return async (_, { signal }) => {
    const { standings, access } = await planner.quotas(signal)
    const today = new Date().toISOString().slice(0, 10)
    const notWanted = await hidden.of(today)
    const found = standings
      .usedUp()
      .filter(({ name, provider }) => access.isAllowed(provider) && access.hasKey(provider) && !notWanted.has(name))
    for (const key of seen.keys()) if (!key.startsWith(today)) seen.delete(key)
    return {
      items: found.map(({ name, calls, limit }) => {
        const key = `${today} ${name}`
        const since = seen.get(key) ?? Date.now()
        seen.set(key, since)
        return {
          id: key,
          kind: 'signal' as const,
          title: `The daily limit of ${titleOf(name)} is used up`,
          body: `Calls today: ${calls} of ${limit}. It gets no more requests until 00:00 UTC; other providers and the local model answer, if there are any. The limits are the settings plugins.providers.daily_limit and daily_limits_json.`,
          since,
          link: '/ui/p/providers/usage?tab=2',
          answers: [{ label: 'Hide until tomorrow', operation: 'models.quota.hide', input: { limit: name } }]
        }
      })
    }
  }
}

/** Returns the title of a limit such as `groq/*` or `openrouter/:free`. */
function titleOf(name: string): string {
  const [provider = '', model = ''] = name.split(/\/(.*)/s)
  if (model === '*') return provider
  return model === ':free' ? `the free models of ${provider}` : name
}

export function hideQuotaHandler({ changed }: HandlerParts, hidden: HiddenQuotas): Handler<typeof hideQuota> {
  return async ({ limit }) => {
    const today = new Date().toISOString().slice(0, 10)
    await hidden.add(today, limit)
    changed()
    return { hidden: limit, until: new Date(Date.parse(today) + DAY_MS).toISOString() }
  }
}
