import { type ChartView, type DashboardPage, dashboardCards, dashboardPages, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { LOG_LEVELS } from './log-entry.ts'

/** Values of the filter that hides the requests of the console itself. */
const SENDERS = ['client', 'console']
const REQUEST = 'observability/requests/:request_id'
const TRACE = 'observability/traces/:id'

const requestLink = { page: REQUEST, params: { request_id: { from: 'row', name: 'request_id' } } } as const
const traceLink = { page: TRACE, params: { id: { from: 'row', name: 'trace_id' } } } as const

/** Spans as bars below their callers. */
function timeline(operation: string, id: string): View {
  return {
    kind: 'timeline',
    operation,
    input: { id: { from: 'route', name: id } },
    rows: 'steps',
    lane: 'lane',
    label: 'name',
    start: 'from',
    end: 'until',
    state: 'state',
    depth: 'depth',
    columns: [{ field: 'plugin' }, { field: 'error' }, { field: 'statement', format: 'code' }, { field: 'details' }],
    empty: 'No spans in memory: the newest 20,000 are kept until svc stops. Those of an earlier run are gone.'
  }
}

const LOGS: DashboardPage = {
  path: 'observability/logs',
  title: 'Logs',
  summary: 'Log lines of the running server as they are written',
  icon: 'scroll-text',
  section: 'observe',
  order: 10,
  role: 'owner',
  view: {
    kind: 'log',
    operation: 'observability.logs.feed',
    time: 'time',
    level: 'level',
    message: 'message',
    columns: [
      { field: 'plugin' },
      { field: 'request_id', title: 'Request', link: requestLink },
      { field: 'details', title: 'Fields', format: 'code' }
    ],
    filters: [
      { name: 'level', label: 'Level', choices: LOG_LEVELS, field: 'level' },
      { name: 'plugin', label: 'Plugin', field: 'plugin' },
      { name: 'request', label: 'Request id', field: 'request_id' },
      { name: 'text', label: 'Text', field: 'message' }
    ],
    empty: 'No log lines yet. Plugins and requests write them; plugins.http.access_log = "all" adds every request.'
  }
}

const REQUESTS: DashboardPage = {
  path: 'observability/requests',
  title: 'Requests',
  summary: 'Answered HTTP requests, newest first; open one for its log lines, its spans and its SQL',
  icon: 'activity',
  section: 'observe',
  order: 20,
  role: 'owner',
  view: {
    kind: 'table',
    operation: 'observability.requests.feed',
    key: 'key',
    sort: '-time',
    columns: [
      { field: 'time', format: 'time' },
      { field: 'method' },
      { field: 'path', format: 'code' },
      { field: 'status' },
      { field: 'result', format: 'state' },
      { field: 'ms', title: 'Duration', format: 'ms' },
      { field: 'plugin' },
      { field: 'error_code', title: 'Error', format: 'code' },
      { field: 'request_id', title: 'Request id', format: 'code' }
    ],
    filters: [
      { name: 'result', label: 'Result', choices: ['ok', 'refused', 'failed'], field: 'result' },
      { name: 'sender', label: 'From', choices: SENDERS, field: 'sender', default: 'client' },
      { name: 'plugin', label: 'Plugin', field: 'plugin' },
      { name: 'path', label: 'Path', field: 'path' },
      { name: 'request', label: 'Request id', field: 'request_id' }
    ],
    of: 'request',
    open: requestLink,
    empty:
      'No requests since svc started; each appears here when it is answered. Requests of earlier runs that failed or ' +
      'were slow are in the log files: svc requests --request ID and the page of the request find them by their id.'
  }
}

const REQUEST_PAGE: DashboardPage = {
  path: REQUEST,
  title: 'Request',
  section: 'observe',
  role: 'owner',
  view: {
    kind: 'stack',
    items: [
      {
        view: {
          kind: 'record',
          operation: 'observability.request',
          input: { id: { from: 'route', name: 'request_id' } },
          field: 'request',
          of: 'request',
          columns: [
            { field: 'request_id', title: 'Request id', format: 'code' },
            { field: 'time', format: 'time' },
            { field: 'method' },
            { field: 'path', format: 'code' },
            { field: 'status' },
            { field: 'error_code', title: 'Error', format: 'code' },
            { field: 'ms', title: 'Duration', format: 'ms' },
            { field: 'plugin' },
            { field: 'operation', format: 'code' },
            { field: 'route', format: 'code' },
            { field: 'principal', title: 'Caller' },
            { field: 'bytes', title: 'Sent', format: 'bytes' },
            { field: 'trace_id', title: 'Trace', format: 'code', link: traceLink }
          ]
        }
      },
      {
        title: 'SQL',
        view: {
          kind: 'table',
          operation: 'observability.request',
          input: { id: { from: 'route', name: 'request_id' } },
          rows: 'statements',
          key: 'key',
          columns: [
            { field: 'statement', format: 'code' },
            { field: 'ms', title: 'Duration', format: 'ms' },
            { field: 'rows' },
            { field: 'error', format: 'code' }
          ],
          empty:
            'No SQL was recorded. It is kept for failed and slow requests of programs, and for all requests while the ' +
            'page Traces is open or plugins.observability.sample is 1.'
        }
      },
      {
        title: 'Log lines',
        view: {
          kind: 'log',
          operation: 'observability.request',
          input: { id: { from: 'route', name: 'request_id' } },
          rows: 'lines',
          time: 'time',
          level: 'level',
          message: 'message',
          columns: [{ field: 'plugin' }, { field: 'details', title: 'Fields', format: 'code' }],
          empty: 'The request wrote no log line.'
        }
      },
      { title: 'Spans', view: timeline('observability.request', 'request_id') }
    ]
  }
}

function chart(
  series: readonly { readonly field: string; readonly label: string }[],
  format: 'number' | 'ms' | 'bytes'
) {
  return {
    kind: 'chart',
    operation: 'observability.metrics',
    input: { series: { value: series.map(({ field }) => field) }, points: { value: 240 } },
    rows: 'points',
    x: 'time',
    series: series.map(each => ({ ...each, format })),
    empty: 'No values yet: the server takes the first 10 seconds after its start.'
  } as const satisfies ChartView
}

const METRICS: DashboardPage = {
  path: 'observability/metrics',
  title: 'Metrics',
  summary: 'The last two hours of this server, one value every 10 seconds',
  icon: 'chart-line',
  section: 'observe',
  order: 30,
  view: {
    kind: 'stack',
    items: [
      {
        title: 'Requests per second',
        view: chart(
          [
            { field: 'requests_per_second', label: 'Requests' },
            { field: 'errors_per_second', label: 'Errors' }
          ],
          'number'
        )
      },
      {
        title: 'Duration of requests',
        view: chart(
          [
            { field: 'request_p50_ms', label: 'Median' },
            { field: 'request_p95_ms', label: '95th percentile' }
          ],
          'ms'
        )
      },
      {
        title: 'Delay of the event loop',
        view: chart(
          [
            { field: 'event_loop_delay_ms', label: 'Mean' },
            { field: 'event_loop_p99_ms', label: '99th percentile' }
          ],
          'ms'
        )
      },
      { title: 'CPU in percent of one core', view: chart([{ field: 'cpu_percent', label: 'CPU' }], 'number') },
      {
        title: 'Memory',
        view: chart(
          [
            { field: 'rss_bytes', label: 'Resident' },
            { field: 'heap_bytes', label: 'Heap' }
          ],
          'bytes'
        )
      },
      {
        title: 'Tokens per second, and requests that wait for the model',
        view: chart(
          [
            { field: 'tokens_per_second', label: 'Tokens' },
            { field: 'model_queue_length', label: 'Waiting' }
          ],
          'number'
        )
      },
      {
        title: 'Plugins: calls per second, and time in calls in percent',
        view: {
          kind: 'table',
          operation: 'observability.metrics',
          input: {
            series: { value: ['calls_per_second*', 'failed_calls_per_second*', 'call_time_percent*'] },
            points: { value: 1 }
          },
          rows: 'series',
          key: 'name',
          columns: [
            { field: 'name', title: 'Series', format: 'code' },
            { field: 'now', format: 'number' },
            { field: 'max', format: 'number' },
            { field: 'trend', title: 'Last two hours' }
          ],
          filters: [{ name: 'series', label: 'Series', field: 'name' }],
          empty: 'No plugin was called yet.'
        }
      }
    ]
  }
}

const TRACES: DashboardPage = {
  path: 'observability/traces',
  title: 'Traces',
  summary: 'While this page is open, every new call is recorded with its database statements and its inner steps',
  icon: 'route',
  section: 'observe',
  order: 40,
  role: 'owner',
  view: {
    kind: 'table',
    operation: 'observability.traces',
    input: {
      plugin: { from: 'filter', name: 'plugin' },
      sender: { from: 'filter', name: 'sender' },
      limit: { value: 200 }
    },
    rows: 'traces',
    key: 'trace_id',
    sort: '-start',
    columns: [
      { field: 'start', format: 'time' },
      { field: 'name', title: 'First span', format: 'code' },
      { field: 'ms', title: 'Duration', format: 'ms' },
      { field: 'spans', format: 'number' },
      { field: 'state', format: 'state' },
      { field: 'error', format: 'code' },
      { field: 'plugin' },
      { field: 'request_id', title: 'Request', format: 'code', link: requestLink }
    ],
    filters: [
      { name: 'sender', label: 'From', choices: SENDERS, default: 'client' },
      { name: 'plugin', label: 'Plugin' },
      { name: 'state', label: 'State', choices: ['ok', 'failed'], field: 'state' },
      { name: 'request', label: 'Request id', field: 'request_id' }
    ],
    of: 'trace',
    open: traceLink,
    empty: 'No traces yet. Every request and every call of an operation is one.'
  }
}

const TRACE_PAGE: DashboardPage = {
  path: TRACE,
  title: 'Trace',
  section: 'observe',
  role: 'owner',
  view: {
    kind: 'stack',
    items: [
      {
        title: 'Spans, with inner steps of failed and slow requests, and of calls made while Traces is open',
        view: timeline('observability.trace', 'id')
      }
    ]
  }
}

/** Contributes the pages of the console and its card. */
export function contributePages(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of [LOGS, REQUESTS, REQUEST_PAGE, METRICS, TRACES, TRACE_PAGE])
    ctx.contribute(dashboardPages, page, page.path)
  ctx.contribute(dashboardCards, {
    title: 'Requests and errors per second',
    order: 20,
    size: 'm',
    view: chart(
      [
        { field: 'requests_per_second', label: 'Requests' },
        { field: 'errors_per_second', label: 'Errors' }
      ],
      'number'
    ),
    link: { page: 'observability/metrics' }
  })
  ctx.contribute(dashboardCards, {
    title: 'Newest failed requests',
    order: 21,
    size: 'm',
    view: {
      kind: 'table',
      operation: 'observability.requests',
      input: { failed: { value: true }, limit: { value: 5 } },
      rows: 'requests',
      key: 'request_id',
      sort: '-time',
      columns: [
        { field: 'time', format: 'time' },
        { field: 'status' },
        { field: 'path', format: 'code' },
        { field: 'error_code', title: 'Error', format: 'code' }
      ],
      open: requestLink,
      empty: 'No request has failed since svc started.'
    },
    link: { page: 'observability/requests' }
  })
}
