import { metricErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { telemetryErrors } from './errors.ts'

/** Topic that is announced after rows or payloads were added or removed. */
export const TELEMETRY_TOPIC = 'telemetry.state'

const { TEL_METRIC_INVALID } = metricErrors.specs
const { TEL_OFF, TEL_PAYLOAD_INVALID, TEL_SPOOL_FAILED, TEL_SPOOL_FULL, TEL_UPLOAD_URL } = telemetryErrors.specs

const metricType = t.enum(['benchmark_event', 'syntax_k_event'], {
  default: 'benchmark_event',
  description: 'benchmark_event: result of a benchmark. syntax_k_event: result for a fixture of the language.'
})

const row = t.object({
  id: t.integer(),
  session_id: t.string({ description: 'bench: or syntaxk:, and the repository.' }),
  metric_type: t.string(),
  name: t.nullable(t.string()),
  metric_value: t.nullable(t.number({ description: 'Null if the result has no single number.' })),
  metric_value_unit: t.nullable(t.string()),
  fixture_id: t.nullable(t.string()),
  details: t.unknown({ description: 'Further facts, such as the model or the machine.' }),
  created_at: t.string({ description: 'UTC, as YYYY-MM-DD HH:MM:SS.' })
})

const limit = t.integer({ default: 50, minimum: 1, maximum: 500, description: 'Maximum rows.' })

export const benchmarkList = defineOperation({
  id: 'telemetry.benchmarks',
  summary: 'List recorded results of benchmarks, newest first',
  description: 'Results are recorded only while plugins.telemetry.benchmarks is on.',
  input: t.object({
    limit,
    metric_type: metricType,
    source: t.optional(
      t.string({
        minLength: 1,
        maxLength: 128,
        description: 'Only results whose details name this source, such as bench, model.bench or mcp.'
      })
    ),
    name: t.optional(t.string({ minLength: 1, maxLength: 256, description: 'Only results with this name.' }))
  }),
  output: t.object({ rows: t.array(row) }),
  effect: 'read',
  watch: { on: [TELEMETRY_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/telemetry/benchmarks' },
    mcp: {
      name: 'svc_benchmark_list',
      lane: 'platform',
      toolsets: ['telemetry'],
      use: 'To compare speeds over time. To add a result: svc_benchmark_record.'
    },
    rpc: true,
    cli: {
      command: 'telemetry benchmarks',
      view: { rows: 'rows', columns: ['created_at', 'name', 'metric_value', 'metric_value_unit', 'fixture_id'] }
    }
  }
})

export const benchmarkRecord = defineOperation({
  id: 'telemetry.record',
  summary: 'Record results of a benchmark in the local database',
  description: 'All results are written in one transaction, or none. Secrets in the details are masked.',
  input: t.object({
    results: t.array(
      t.object({
        metric_type: metricType,
        name: t.string({ minLength: 1, maxLength: 256, description: 'Measured quantity, such as compile_ms.' }),
        value: t.optional(t.nullable(t.number(), { description: 'Absent or null: it could not be measured.' })),
        unit: t.optional(t.string({ minLength: 1, maxLength: 64, description: 'Unit; only for benchmark_event.' })),
        fixture_id: t.optional(
          t.string({ minLength: 1, maxLength: 256, description: 'Measured fixture; required for syntax_k_event.' })
        ),
        details: t.optional(t.record(t.unknown(), { description: 'Further facts, at most 256 KiB as JSON.' }))
      }),
      { minItems: 1, maxItems: 200, description: 'Measured results.' }
    ),
    source: t.string({
      default: 'mcp',
      minLength: 1,
      maxLength: 128,
      description: 'Program that measured; stored in the details.'
    })
  }),
  output: t.object({
    recorded: t.integer({ description: 'Number of rows that were written.' }),
    note: t.optional(t.string({ description: 'Why results were not recorded.' }))
  }),
  errors: { TEL_METRIC_INVALID },
  expose: {
    http: { method: 'POST', path: '/api/telemetry/benchmarks' },
    mcp: {
      name: 'svc_benchmark_record',
      lane: 'platform',
      toolsets: ['telemetry'],
      use: 'After you measured something, such as a build or a test run. To read results: svc_benchmark_list.'
    },
    rpc: true
  }
})

export const telemetryStatus = defineOperation({
  id: 'telemetry.status',
  summary: 'Show what is recorded, and what waits for an upload',
  input: t.object({}),
  output: t.object({
    recording: t.boolean({ description: 'Main switch.' }),
    benchmarks: t.boolean({ description: 'Whether benchmark_event rows are recorded.' }),
    syntax_k: t.boolean({ description: 'Whether syntax_k_event rows are recorded.' }),
    benchmark_rows: t.integer({ description: 'Rows of this repository.' }),
    syntax_k_rows: t.integer(),
    pending: t.integer({ description: 'Payloads in the upload queue.' }),
    pending_bytes: t.integer(),
    oldest_at: t.nullable(t.string({ description: 'Time of the oldest payload, ISO 8601.' })),
    spool: t.string({ description: 'Folder of the upload queue.' }),
    upload_url: t.nullable(t.string({ description: 'Without its query.' })),
    token_set: t.boolean(),
    trace_file: t.nullable(t.string({ description: 'File of the dogfood trace.' })),
    trace_bytes: t.integer(),
    trace_written: t.integer({ description: 'Lines since the plugin started.' }),
    trace_dropped: t.integer()
  }),
  errors: { TEL_SPOOL_FAILED },
  effect: 'read',
  watch: { on: [TELEMETRY_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/telemetry/status' },
    rpc: true,
    cli: { command: 'telemetry status' }
  }
})

export const telemetryDoctor = defineOperation({
  id: 'telemetry.doctor',
  summary: 'Check the settings of telemetry, its queue and its table',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean(),
    checks: t.array(
      t.object({
        check: t.string(),
        ok: t.boolean(),
        detail: t.string(),
        hint: t.nullable(t.string())
      })
    )
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/telemetry/doctor' },
    rpc: true,
    cli: { command: 'telemetry doctor', view: { rows: 'checks', columns: ['check', 'ok', 'detail', 'hint'] } }
  }
})

export const telemetryExport = defineOperation({
  id: 'telemetry.export',
  summary: 'Export recorded rows of this repository, oldest first, without secrets',
  input: t.object({
    metric_type: t.optional(
      t.string({ pattern: '^[A-Za-z0-9_.:-]{1,128}$', description: 'Default: benchmark_event and syntax_k_event.' })
    ),
    after: t.integer({ default: 0, minimum: 0, description: 'Only rows with a larger id: next of the page before.' }),
    limit: t.integer({ default: 500, minimum: 1, maximum: 500, description: 'Maximum rows.' })
  }),
  output: t.object({
    rows: t.array(row),
    next: t.nullable(t.integer({ description: 'Value of after for the next page; null if there is none.' }))
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/telemetry/export' },
    rpc: true,
    cli: {
      command: 'telemetry export',
      view: {
        rows: 'rows',
        columns: ['id', 'metric_type', 'name', 'metric_value', 'metric_value_unit', 'fixture_id', 'created_at']
      }
    }
  }
})

export const telemetryEnqueue = defineOperation({
  id: 'telemetry.enqueue',
  summary: 'Add a JSON object to the upload queue',
  description: 'Secrets are masked first. Nothing is sent before the command telemetry upload.',
  input: t.object({
    payload: t.string({
      minLength: 2,
      maxLength: 1_048_576,
      description: 'Text of a JSON object, at most 256 KiB.'
    })
  }),
  output: t.object({ id: t.string({ description: 'UUID; the file is pending/ID.json.' }) }),
  errors: { TEL_OFF, TEL_PAYLOAD_INVALID, TEL_SPOOL_FAILED, TEL_SPOOL_FULL },
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/telemetry/queue' },
    rpc: true,
    cli: { command: 'telemetry enqueue', args: ['payload'], view: { text: 'id' } }
  }
})

export const telemetryUpload = defineOperation({
  id: 'telemetry.upload',
  summary: 'Send the upload queue to an HTTPS server',
  description: 'Each accepted payload is removed; others stay in the queue.',
  input: t.object({
    url: t.optional(
      t.string({ minLength: 1, maxLength: 2_048, description: 'HTTPS URL; default: plugins.telemetry.upload_url.' })
    ),
    dry_run: t.boolean({ default: false, description: 'Only show what would be sent, and where.' })
  }),
  output: t.object({
    healthy: t.boolean({ description: 'False if a payload was not accepted.' }),
    dry_run: t.boolean(),
    url: t.string({ description: 'Without its query.' }),
    pending: t.integer({ description: 'Payloads in the queue at the start.' }),
    sent: t.integer(),
    failed: t.integer(),
    stopped: t.boolean({ description: 'True if the upload ended early, because the server did not answer.' }),
    failures: t.array(t.object({ id: t.string(), reason: t.string() }), { description: 'The first 20 failures.' })
  }),
  errors: { TEL_OFF, TEL_SPOOL_FAILED, TEL_UPLOAD_URL },
  timeoutMs: 3_600_000,
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/telemetry/upload' },
    rpc: true,
    cli: { command: 'telemetry upload' }
  }
})

export const operations = [
  benchmarkList,
  benchmarkRecord,
  telemetryStatus,
  telemetryDoctor,
  telemetryExport,
  telemetryEnqueue,
  telemetryUpload
]
