import {
  type Bindings,
  dashboardCards,
  dashboardPages,
  dashboardSearch,
  type GroupView,
  type KernelAdmin,
  type Link,
  type LogView,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

export const LIST_PAGE = 'app-runtime/apps'
const APP_PAGE = 'app-runtime/apps/:app'
const REQUEST_PAGE = 'app-runtime/apps/:app/request'
const TABLE_PAGE = 'app-runtime/apps/:app/tables/:table'

const byRoute: Bindings = { app: { from: 'route', name: 'app' } }
const described = { operation: 'app.describe', input: byRoute } as const

const openApp: Link = { page: APP_PAGE, params: { app: { from: 'row', name: 'name' } } }

const openRequest: Link = {
  page: REQUEST_PAGE,
  params: {
    app: { from: 'route', name: 'app' },
    method: { from: 'row', name: 'method' },
    path: { from: 'row', name: 'path' }
  }
}

const openTable: Link = {
  page: TABLE_PAGE,
  params: { app: { from: 'route', name: 'app' }, table: { from: 'row', name: 'name' } }
}

const openRecordedRequest: Link = {
  page: 'observability/requests/:request_id',
  params: { request_id: { from: 'row', name: 'request_id' } }
}

const list: View = {
  kind: 'table',
  operation: 'app.list',
  rows: 'apps',
  key: 'name',
  columns: [
    { field: 'name', title: 'App', link: openApp },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'url', title: 'Address', format: 'code' },
    { field: 'file', title: 'Source', format: 'code' },
    { field: 'routes', title: 'Routes', format: 'number' },
    { field: 'tables', title: 'Tables', format: 'number' },
    { field: 'workflows', title: 'Workflows', format: 'number' },
    { field: 'threads', title: 'Threads', format: 'number' },
    { field: 'loaded_at', title: 'Loaded', format: 'time' }
  ],
  open: openApp,
  empty: 'No app is served. A program appears here with svc dev FILE, or with the setting plugins.app-runtime.program.'
}

const about: View = {
  kind: 'record',
  ...described,
  field: 'app',
  columns: [
    { field: 'state', title: 'State', format: 'state' },
    { field: 'url', title: 'Address', format: 'code' },
    { field: 'file', title: 'Source', format: 'code' },
    { field: 'database', title: 'Database', format: 'code' },
    { field: 'auth', title: 'Authentication' }
  ]
}

const routes: View = {
  kind: 'table',
  ...described,
  rows: 'routes',
  key: 'route',
  columns: [
    { field: 'method', title: 'Method', format: 'code' },
    { field: 'path', title: 'Path', format: 'code', link: openRequest },
    { field: 'kind', title: 'Kind' },
    { field: 'name', title: 'Name' },
    { field: 'inputs', title: 'Parameters' },
    { field: 'returns', title: 'Returns', format: 'code' },
    { field: 'auth', title: 'Authentication' }
  ],
  filters: [
    { name: 'kind', label: 'Kind', choices: ['query', 'mutation', 'server', 'route'], field: 'kind' },
    { name: 'find', label: 'Path contains', field: 'path' }
  ],
  open: openRequest,
  empty: 'No routes. Functions with @query, @mutation or @server, and http declarations of the program appear here.'
}

const tables: View = {
  kind: 'table',
  ...described,
  rows: 'tables',
  key: 'name',
  columns: [
    { field: 'name', title: 'Table', link: openTable },
    { field: 'stored_as', title: 'Stored as', format: 'code' },
    { field: 'summary', title: 'Columns' }
  ],
  open: openTable,
  empty: 'No tables. Types with @table of the program appear here.'
}

function signatures(rows: 'functions' | 'workflows', empty: string): View {
  return {
    kind: 'table',
    ...described,
    rows,
    key: 'name',
    columns: [
      { field: 'name', title: 'Name' },
      { field: 'kind', title: 'Kind' },
      { field: 'params', title: 'Parameters' },
      { field: 'returns', title: 'Returns', format: 'code' }
    ],
    empty
  }
}

const feed: View = {
  kind: 'table',
  operation: 'app.feed',
  key: 'id',
  columns: [
    { field: 'time', title: 'Time', format: 'time' },
    { field: 'name', title: 'Call' },
    { field: 'status', title: 'Status', format: 'number' },
    { field: 'ms', title: 'Duration', format: 'ms' },
    { field: 'sql', title: 'SQL statements', format: 'number' },
    { field: 'request_id', title: 'Request', format: 'code', link: openRecordedRequest }
  ],
  filters: [{ name: 'call', label: 'Call contains', field: 'name' }],
  open: openRecordedRequest,
  sort: '-time',
  empty: 'No calls yet. Each call of a route appears here when its response is sent.'
}

const activity: View = {
  kind: 'table',
  operation: 'app.activity',
  key: 'id',
  columns: [
    { field: 'time', title: 'Time', format: 'time' },
    { field: 'event', title: 'Event' },
    { field: 'text', title: 'What' },
    { field: 'status', title: 'Status', format: 'number' },
    { field: 'ms', title: 'Duration', format: 'ms' },
    { field: 'values', title: 'Values', format: 'number' },
    { field: 'rows', title: 'Rows', format: 'number' },
    { field: 'changed', title: 'Changed', format: 'number' },
    { field: 'request_id', title: 'Request', format: 'code', link: openRecordedRequest }
  ],
  filters: [
    {
      name: 'event',
      label: 'Event',
      choices: ['request', 'call', 'sql', 'live', 'debug', 'info', 'warn', 'error'],
      field: 'event'
    },
    { name: 'text', label: 'Text contains', field: 'text' },
    { name: 'request', label: 'Request contains', field: 'request_id' }
  ],
  sort: '-seq',
  empty: 'No activity yet. In svc dev, each request, its SQL, live updates and log lines appear here.'
}

const logs: LogView = {
  kind: 'log',
  operation: 'observability.logs.feed',
  time: 'time',
  level: 'level',
  message: 'message',
  columns: [
    { field: 'details', title: 'Details' },
    { field: 'request_id', title: 'Request', link: openRecordedRequest }
  ],
  filters: [
    { name: 'plugin', label: 'Plugin', field: 'plugin', default: 'app-runtime' },
    { name: 'level', label: 'Level', choices: ['debug', 'info', 'warn', 'error'], field: 'level' },
    { name: 'text', label: 'Text contains', field: 'message' }
  ],
  empty: 'No log lines yet. What the program prints and logs appears here.'
}

/** Contributes the pages of served programs to the console. The log is shown if a plugin records it. */
export function contributeAppPages(ctx: Pick<PluginContext, 'contribute'>, admin: KernelAdmin | undefined): void {
  const hasLogs = admin?.plugins().some(({ name, state }) => {
    return name === 'observability' && state !== 'disabled' && state !== 'invalid'
  })
  const items: GroupView['items'] = [
    { title: 'Routes', view: { kind: 'stack', items: [{ view: about }, { title: 'Routes', view: routes }] } },
    { title: 'Tables', view: tables },
    { title: 'Live calls', view: feed },
    { title: 'Activity', view: activity },
    {
      title: 'Functions',
      view: signatures(
        'functions',
        'No functions. Functions, tools and scheduled functions of the program appear here.'
      )
    },
    { title: 'Workflows', view: signatures('workflows', 'No workflows. Those that the program declares appear here.') },
    ...(hasLogs === true ? [{ title: 'Log', view: logs }] : [])
  ]
  ctx.contribute(dashboardPages, {
    path: LIST_PAGE,
    title: 'Apps',
    summary: 'Programs that this process serves',
    icon: 'app-window',
    section: 'build',
    order: 50,
    view: list
  })
  ctx.contribute(dashboardPages, {
    path: APP_PAGE,
    title: 'App',
    icon: 'app-window',
    section: 'build',
    view: { kind: 'tabs', items }
  })
  ctx.contribute(dashboardPages, {
    path: REQUEST_PAGE,
    title: 'Try a route',
    icon: 'play',
    section: 'build',
    role: 'operator',
    view: { kind: 'module', entry: 'try', uses: ['app.describe', 'app.request'] }
  })
  ctx.contribute(dashboardPages, {
    path: TABLE_PAGE,
    title: 'Table',
    icon: 'table',
    section: 'build',
    role: 'owner',
    view: {
      kind: 'module',
      entry: 'rows',
      uses: ['app.describe', 'app.table.rows', 'app.table.update', 'app.table.insert', 'app.table.delete']
    }
  })
  ctx.contribute(dashboardSearch, { operation: 'app.search' })
  ctx.contribute(dashboardCards, {
    title: 'Apps',
    size: 's',
    order: 50,
    view: {
      kind: 'table',
      operation: 'app.list',
      rows: 'apps',
      key: 'name',
      columns: [
        { field: 'name', title: 'App' },
        { field: 'state', title: 'State', format: 'state' }
      ],
      open: openApp,
      empty: 'No app is served. Start one with svc dev FILE.'
    },
    link: { page: LIST_PAGE }
  })
}
