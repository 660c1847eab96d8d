import { type DatabaseCollections, databaseCollections, type InboxItem } from '@svc/contracts'
import { type Delta, definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { openWorld } from './open-providers.ts'

const DAY_MS = 86_400_000

function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)
}

/** Opens the plugin with a database, and a function that adds calls of a model. */
async function open(t: Test, settings: object) {
  let collections: DatabaseCollections | undefined
  const spy = definePlugin({
    name: 'collections-spy',
    requires: { collections: databaseCollections },
    activate(_ctx, deps) {
      collections = deps.collections
    }
  }) as Plugin
  const world = await openWorld(t, { settings, plugins: [spy] })
  const rows = () => (collections as DatabaseCollections).collection<any>('provider_usage', { index: 'date' })
  return {
    ...world,
    async used(provider: string, model: string, calls: number, date = dayBefore(0), more: object = {}) {
      const key = { user_id: 'global', provider, model, date, task_category: 'general', agent_id: null }
      const none = { provider_request_id: null, provider_reported_cost_usd: null, estimated_cost_usd: 0 }
      const state = { reconciled_cost_usd: null, cost_source: null, is_rate_limited: false, last_429: null }
      const row = {
        ...key,
        ...none,
        ...state,
        calls,
        tokens_in: 10,
        tokens_out: 5,
        cost_usd: 0.5,
        cool_down_until: null
      }
      await rows().upsert(key, () => ({ ...row, ...more }))
    },
    items: async () => ((await world.call('inbox')) as { items: InboxItem[] }).items
  }
}

t.test('a used up limit is in the inbox until it is hidden, raised, or the provider has no key', async t => {
  const { used, items, call, kernel } = await open(t, {
    groq_api_key: 'k',
    openrouter_api_key: 'k',
    allowed: ['groq', 'openrouter', 'mistral'],
    daily_limit: 4
  })
  await used('groq', 'a', 2)
  await used('mistral', 'a', 9)
  await used('openai', 'a', 9)
  t.same(await items(), [], 'groq has calls left, mistral has no key, and openai no limit')
  await used('groq', 'b', 2)
  await used('openrouter', ':free', 2)
  const found = await items()
  t.match(found.map(({ title }) => title).sort(), [
    'The daily limit of groq is used up',
    'The daily limit of the free models of openrouter is used up'
  ])
  t.match(
    found.find(({ title }) => title.includes('groq')),
    { kind: 'signal', body: /Calls today: 4 of 4\./ }
  )
  t.equal(found[0]?.since, (await items())[0]?.since, 'the time at which it was seen stays')
  const changes = kernel.changes('providers.usage')
  for (const { answers } of found)
    await kernel.callById(answers[0]?.operation as string, answers[0]?.input as Record<string, unknown>)
  t.same(await items(), [])
  t.equal(kernel.changes('providers.usage'), changes + 2)
  t.match(await call('quota.hide', { limit: 'groq/*' }), { until: /^\d{4}-\d\d-\d\dT00:00:00/ })
})

t.test('a limit that was used up yesterday, or that allows no calls, is not in the inbox', async t => {
  const { used, items } = await open(t, {
    groq_api_key: 'k',
    daily_limits_json: JSON.stringify({ 'groq/*': 2, 'groq/never': 0 })
  })
  await used('groq', 'a', 2, dayBefore(1))
  await used('groq', 'never', 0)
  t.same(await items(), [])
})

t.test('the summary has the costs of today and of each day, and the providers that are used', async t => {
  const { used, call } = await open(t, { groq_api_key: 'k', daily_limit: 10 })
  await used('groq', 'a', 3)
  await used('openai', 'a', 1, dayBefore(2))
  const summary = await call('usage.summary', { days: 3 })
  t.match(summary, { cost_today_usd: 0.5, calls_today: 3, tokens_today: 15, total_cost_usd: 1 })
  t.same(
    summary.days.map(({ calls }: { calls: number }) => calls),
    [1, 0, 3]
  )
  t.match(summary.active_providers, [{ provider: 'groq', calls: 3, remaining: 7 }])
  t.equal(summary.active_providers.length, 1)
})

t.test('feeds of usage and models send many rows in pages, and then only changes', async t => {
  const { used, call } = await open(t, { groq_api_key: 'k', daily_limit: 10_000 })
  for (let back = 0; back < 12; back++)
    for (let at = 0; at < 100; at++) await used('groq', `<b>${at}</b>${'x'.repeat(300)}`, 1, dayBefore(back))
  const first = (await call('usage.feed')) as Delta<{ key: string }>
  t.same([first.upsert.length, first.more, first.reset], [1_000, true, true])
  const second = (await call('usage.feed', { since: first.cursor })) as Delta<{ key: string }>
  t.same([second.upsert.length, second.more], [200, false])
  await used('groq', 'late', 1)
  const third = (await call('usage.feed', { since: second.cursor })) as Delta<{ model: string }>
  t.match(third, { reset: false, upsert: [{ model: 'late', calls: 1 }], remove: [] })
  const models = (await call('feed')) as Delta<{ name: string; provider: string }>
  t.ok(models.upsert.length > 0)
  t.ok(models.upsert.every(({ provider }) => provider === 'groq'))
})
