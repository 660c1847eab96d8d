import { type DashboardPage, dashboardCards, dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const PAGE = 'telemetry/telemetry'

const page: DashboardPage = {
  path: PAGE,
  title: 'Telemetry',
  summary: 'Results of benchmarks, and what waits for an upload. Nothing is sent unless you upload it',
  icon: 'chart-line',
  section: 'observe',
  order: 80,
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Benchmarks',
        view: {
          kind: 'table',
          operation: 'telemetry.benchmarks.feed',
          key: 'id',
          columns: [
            { field: 'created_at', title: 'Time (UTC)' },
            { field: 'name', title: 'Quantity' },
            { field: 'metric_value', title: 'Value', format: 'number' },
            { field: 'metric_value_unit', title: 'Unit' },
            { field: 'fixture_id', title: 'Fixture' },
            { field: 'details', title: 'Details', format: 'code' }
          ],
          filters: [
            {
              name: 'type',
              label: 'Type',
              choices: ['benchmark_event', 'syntax_k_event'],
              field: 'metric_type',
              default: 'benchmark_event'
            }
          ],
          sort: '-created_at',
          empty: 'Set plugins.telemetry.benchmarks to true, then run: svc model bench'
        }
      },
      {
        title: 'State',
        view: {
          kind: 'record',
          operation: 'telemetry.status',
          columns: [
            { field: 'recording', title: 'Main switch', format: 'boolean' },
            { field: 'benchmarks', title: 'Benchmarks are recorded', format: 'boolean' },
            { field: 'syntax_k', title: 'Fixtures are recorded', format: 'boolean' },
            { field: 'benchmark_rows', title: 'Benchmark rows', format: 'number' },
            { field: 'syntax_k_rows', title: 'Fixture rows', format: 'number' },
            { field: 'pending', title: 'Payloads in the queue', format: 'number' },
            { field: 'pending_bytes', title: 'Size of the queue', format: 'bytes' },
            { field: 'oldest_at', title: 'Oldest payload', format: 'time' },
            { field: 'spool', title: 'Folder of the queue', format: 'code' },
            { field: 'upload_url', title: 'Upload URL', format: 'code' },
            { field: 'token_set', title: 'Upload token is set', format: 'boolean' },
            { field: 'trace_file', title: 'Dogfood trace', format: 'code' },
            { field: 'trace_bytes', title: 'Size of the trace', format: 'bytes' },
            { field: 'trace_dropped', title: 'Dropped lines', format: 'number' }
          ]
        }
      },
      {
        title: 'Checks',
        view: {
          kind: 'table',
          operation: 'telemetry.doctor',
          rows: 'checks',
          key: 'check',
          columns: [
            { field: 'check', title: 'Check' },
            { field: 'ok', title: 'Good', format: 'boolean' },
            { field: 'detail', title: 'Detail' },
            { field: 'hint', title: 'Next step' }
          ]
        }
      }
    ]
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardCards, {
    title: 'Telemetry',
    order: 80,
    size: 's',
    link: { page: PAGE },
    view: {
      kind: 'record',
      operation: 'telemetry.status',
      columns: [
        { field: 'recording', title: 'Main switch', format: 'boolean' },
        { field: 'benchmark_rows', title: 'Benchmark rows', format: 'number' },
        { field: 'pending', title: 'Waiting for an upload', format: 'number' },
        { field: 'pending_bytes', title: 'Size', format: 'bytes' }
      ]
    }
  })
}
