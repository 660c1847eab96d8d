import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, deltaOperation, t } from '@svc/plugin-sdk'
import { USAGE_TOPIC, usageFields } from '../operations.ts'
import { PROVIDERS } from '../provider-list.ts'

const watch = { on: [USAGE_TOPIC], minMs: 1_000 }

const provider = t.object({
  provider: t.enum(PROVIDERS),
  has_key: t.boolean(),
  calls: t.integer({ description: 'Calls today.' }),
  remaining: t.nullable(t.integer({ description: 'Calls that are left today; null for no limit.' })),
  limited: t.boolean({ description: 'Whether a model of it cools down.' })
})

export const usageSummary = defineOperation({
  id: 'models.usage.summary',
  summary: 'Show costs by day, and what each provider has left today',
  input: t.object({
    days: t.integer({ default: 30, minimum: 1, maximum: 90, description: 'UTC days, today included.' })
  }),
  output: t.object({
    cost_today_usd: t.number(),
    calls_today: t.integer(),
    tokens_today: t.integer(),
    total_cost_usd: t.number({ description: 'Costs of all these days.' }),
    providers: t.array(provider),
    active_providers: t.array(provider, { description: 'Providers with a key or with calls today.' }),
    days: t.array(
      t.object({
        at: t.integer({ description: 'Unix milliseconds of the begin of the UTC day.' }),
        calls: t.integer(),
        tokens: t.integer(),
        cost_usd: t.number()
      })
    )
  }),
  effect: 'read',
  watch,
  expose: { rpc: true }
})

export const usageFeed = deltaOperation({
  id: 'models.usage.feed',
  summary: 'Follow calls, tokens and costs of the last 30 days by provider and model',
  row: t.object(usageFields),
  watch,
  expose: { rpc: true }
})

export const modelsFeed = deltaOperation({
  id: 'models.feed',
  summary: 'Follow the usable models with their prices and quotas',
  row: t.object({
    name: t.string(),
    provider: t.string(),
    cost_per_1k_input: t.nullable(t.number()),
    cost_per_1k_output: t.nullable(t.number()),
    price_as_of: t.nullable(t.string()),
    max_context: t.integer(),
    remaining: t.nullable(t.integer())
  }),
  watch,
  expose: { rpc: true }
})

export const quotaInbox = defineOperation({
  id: 'models.inbox',
  summary: 'List daily limits of providers that are used up',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch,
  expose: { rpc: true }
})

export const hideQuota = defineOperation({
  id: 'models.quota.hide',
  summary: 'Do not show a used up limit in the inbox today',
  input: t.object({
    limit: t.string({ minLength: 3, maxLength: 512, description: 'Provider and model of the limit, such as groq/*.' })
  }),
  output: t.object({ hidden: t.string(), until: t.string({ description: 'End of the UTC day, ISO 8601.' }) }),
  effect: 'write',
  expose: { rpc: true }
})

export const consoleOperations = [usageSummary, usageFeed, modelsFeed, quotaInbox, hideQuota]
