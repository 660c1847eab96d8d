import { type DashboardPage, dashboardCards, dashboardPages, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const SERVERS = 'inference-router/servers'
const SERVER = 'inference-router/servers/:server'

const byRoute = { name: { from: 'route', name: 'server' } } as const
const open = { page: SERVER, params: { server: { from: 'row', name: 'name' } } } as const
const EMPTY = 'Model servers of the router appear here. Add one with [[inference_router.servers]].'

const table: View = {
  kind: 'table',
  operation: 'model.servers',
  rows: 'servers',
  key: 'name',
  columns: [
    { field: 'name', title: 'Server' },
    { field: 'api', title: 'Kind' },
    { field: 'status', title: 'Status', format: 'state' },
    { field: 'load', title: 'Load', format: 'number' },
    { field: 'slots', title: 'Slots', format: 'number' },
    { field: 'requests', title: 'Requests', format: 'number' },
    { field: 'failures', title: 'Failures', format: 'number' },
    { field: 'retries', title: 'Retried elsewhere', format: 'number' },
    { field: 'prefix_hit_rate', title: 'Prompt read before', format: 'percent' },
    { field: 'model_names', title: 'Models' }
  ],
  open,
  empty: EMPTY
}

const servers: DashboardPage = {
  path: SERVERS,
  title: 'Model servers',
  summary: 'Load, models and faults of the servers behind the router',
  icon: 'route',
  section: 'build',
  order: 22,
  view: table
}

const server: DashboardPage = {
  path: SERVER,
  title: 'Model server',
  icon: 'route',
  section: 'build',
  view: {
    kind: 'stack',
    items: [
      {
        title: 'Server',
        view: {
          kind: 'record',
          operation: 'model.servers',
          input: byRoute,
          field: 'servers.0',
          columns: [
            { field: 'status', title: 'Status', format: 'state' },
            { field: 'detail', title: 'Details' },
            { field: 'url', title: 'Address' },
            { field: 'api', title: 'Kind' },
            { field: 'source', title: 'Source' },
            { field: 'load', title: 'Load', format: 'number' },
            { field: 'slots', title: 'Slots', format: 'number' },
            { field: 'weight', title: 'Weight', format: 'number' },
            { field: 'in_flight', title: 'Requests of this router', format: 'number' },
            { field: 'cache_usage', title: 'Cache in use', format: 'percent' },
            { field: 'facts_age_ms', title: 'Age of the facts', format: 'ms' },
            { field: 'requests', title: 'Requests', format: 'number' },
            { field: 'failures', title: 'Failures', format: 'number' },
            { field: 'retries', title: 'Retried elsewhere', format: 'number' },
            { field: 'prefix_hit_rate', title: 'Prompt read before', format: 'percent' }
          ],
          empty: 'The router has no server of that name.'
        }
      },
      {
        title: 'Models',
        view: {
          kind: 'table',
          operation: 'model.servers',
          input: byRoute,
          rows: 'servers.0.models',
          key: 'name',
          columns: [
            { field: 'name', title: 'Model' },
            { field: 'loaded', title: 'Loaded', format: 'boolean' },
            { field: 'parent', title: 'Adapter of' },
            { field: 'service_ms', title: 'Mean answer', format: 'ms' },
            { field: 'prefill_bytes_per_ms', title: 'Prompt bytes/ms', format: 'number' }
          ],
          empty: 'The models that the server reports appear here.'
        }
      }
    ]
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of [servers, server]) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardCards, {
    title: 'Model servers',
    order: 31,
    size: 'm',
    link: { page: SERVERS },
    view: {
      kind: 'table',
      operation: 'model.servers',
      rows: 'servers',
      key: 'name',
      columns: [
        { field: 'name', title: 'Server' },
        { field: 'status', title: 'Status', format: 'state' },
        { field: 'load', title: 'Load', format: 'number' },
        { field: 'slots', title: 'Slots', format: 'number' }
      ],
      open,
      empty: EMPTY
    }
  })
}
