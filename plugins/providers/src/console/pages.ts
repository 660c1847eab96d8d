import { dashboardCards, dashboardInbox, dashboardPages, type TableView, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { PROVIDERS } from '../provider-list.ts'

const USAGE = 'providers/usage'
const EMPTY = 'Calls of models appear here. Ask one with svc model chat, or set the key of a provider.'

const byModel: View = {
  kind: 'table',
  operation: 'models.usage.feed',
  key: 'key',
  columns: [
    { field: 'date', title: 'Day (UTC)' },
    { field: 'provider', title: 'Provider' },
    { field: 'model', title: 'Model', format: 'code' },
    { field: 'calls', title: 'Calls', format: 'number' },
    { field: 'tokens_in', title: 'Input', format: 'tokens' },
    { field: 'tokens_out', title: 'Output', format: 'tokens' },
    { field: 'cost_usd', title: 'Cost in USD' },
    { field: 'limited', title: 'Cools down', format: 'boolean' }
  ],
  filters: [
    { name: 'provider', label: 'Provider', choices: PROVIDERS, field: 'provider' },
    { name: 'model', label: 'Model', field: 'model' },
    { name: 'day', label: 'Day', field: 'date' }
  ],
  sort: '-date',
  empty: EMPTY
}

const providers: TableView = {
  kind: 'table',
  operation: 'models.usage.summary',
  rows: 'providers',
  key: 'provider',
  columns: [
    { field: 'provider', title: 'Provider' },
    { field: 'has_key', title: 'Has a key', format: 'boolean' },
    { field: 'calls', title: 'Calls today', format: 'number' },
    { field: 'remaining', title: 'Calls left today', format: 'number' },
    { field: 'limited', title: 'Cools down', format: 'boolean' }
  ],
  empty: 'No provider is allowed by plugins.providers.allowed.'
}

const today: View = {
  kind: 'record',
  operation: 'models.usage.summary',
  columns: [
    { field: 'cost_today_usd', title: 'Cost today in USD' },
    { field: 'total_cost_usd', title: 'Cost in 30 days in USD' },
    { field: 'calls_today', title: 'Calls today', format: 'number' },
    { field: 'tokens_today', title: 'Tokens today', format: 'tokens' }
  ]
}

const activeProviders: TableView = {
  ...providers,
  rows: 'active_providers',
  columns: (providers.columns ?? []).filter(({ field }) => field !== 'has_key'),
  empty: 'Set the key of a provider, for example: svc secrets set OPENROUTER_API_KEY'
}

const costs: View = {
  kind: 'chart',
  operation: 'models.usage.summary',
  rows: 'days',
  x: 'at',
  series: [{ field: 'cost_usd', label: 'Cost in USD', format: 'number' }],
  empty: EMPTY
}

const models: View = {
  kind: 'table',
  operation: 'models.feed',
  key: 'name',
  columns: [
    { field: 'name', title: 'Model', format: 'code' },
    { field: 'provider', title: 'Provider' },
    { field: 'cost_per_1k_input', title: 'USD for 1,000 input tokens' },
    { field: 'cost_per_1k_output', title: 'USD for 1,000 output tokens' },
    { field: 'price_as_of', title: 'Price as of' },
    { field: 'max_context', title: 'Context', format: 'tokens' },
    { field: 'remaining', title: 'Calls left today', format: 'number' }
  ],
  filters: [
    { name: 'provider', label: 'Provider', choices: PROVIDERS, field: 'provider' },
    { name: 'model', label: 'Model', field: 'name' }
  ],
  empty: 'Usable models appear here. svc models list --all shows why others are not usable.'
}

export function contributePages(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, {
    path: USAGE,
    title: 'Model usage',
    summary: 'Calls, tokens and costs by provider and model, and the quotas',
    icon: 'activity',
    section: 'observe',
    order: 40,
    view: {
      kind: 'tabs',
      items: [
        { title: 'Usage', view: byModel },
        { title: 'Costs by day', view: costs },
        { title: 'Providers', view: providers },
        { title: 'Models', view: models }
      ]
    }
  })
  ctx.contribute(dashboardInbox, { operation: 'models.inbox' })
  ctx.contribute(dashboardCards, {
    title: 'Costs and quotas of models',
    size: 'm',
    order: 64,
    view: { kind: 'stack', items: [{ view: today }, { view: activeProviders }] },
    link: { page: USAGE }
  })
}
