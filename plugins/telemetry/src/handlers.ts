import { type BenchmarkResult, type DatabaseStore, type KernelPort, rowsByName, type SqlValue } from '@svc/contracts'
import { defined, errorMessage, type Handler, type Infer, type Logger, readStrictJson } from '@svc/plugin-sdk'
import { type DogfoodTrace, traceBytes } from './dogfood-trace.ts'
import { telemetryErrors } from './errors.ts'
import type {
  benchmarkList,
  benchmarkRecord,
  telemetryDoctor,
  telemetryEnqueue,
  telemetryExport,
  telemetryStatus,
  telemetryUpload
} from './operations.ts'
import { type MetricRecorder, SESSION_PREFIX } from './recorder.ts'
import { redact } from './redact.ts'
import type { Settings } from './settings.ts'
import type { Spool } from './spool.ts'
import { shownUrl, upload, uploadUrl } from './upload.ts'

export interface Dependencies {
  readonly settings: () => Settings
  readonly database: Pick<DatabaseStore, 'query'>
  readonly kernel: Pick<KernelPort, 'repositoryId' | 'mask'>
  readonly recorder: MetricRecorder
  readonly spool: Spool
  readonly trace: DogfoodTrace | null
  readonly log: Logger
  /** Called after payloads were added or removed. */
  readonly changed: () => void
}

type Row = Infer<typeof benchmarkList.output>['rows'][number]

const COLUMNS = 'id, session_id, metric_type, metric_value, metadata_json, created_at'

export function listHandler({ database, kernel }: Dependencies): Handler<typeof benchmarkList> {
  return async ({ limit, metric_type, source, name }) => {
    const wanted = (field: string, value: string | undefined) =>
      value === undefined ? '' : ` AND json_extract(metadata_json, '$.${field}') = ?`
    const found = await database.query(
      `SELECT ${COLUMNS} FROM research_metrics WHERE session_id = ? AND metric_type = ?
       AND json_valid(metadata_json)${wanted('details.source', source)}${wanted('name', name)} ORDER BY id DESC LIMIT ?`,
      [
        `${SESSION_PREFIX[metric_type]}:${kernel.repositoryId}`,
        metric_type,
        ...[source, name].filter(each => each !== undefined),
        limit
      ]
    )
    return { rows: rowsByName(found).map(each => toRow(each, kernel)) }
  }
}

export function exportHandler({ database, kernel }: Dependencies): Handler<typeof telemetryExport> {
  return async ({ metric_type, after, limit }) => {
    const sessions = Object.values(SESSION_PREFIX).map(prefix => `${prefix}:${kernel.repositoryId}`)
    const found = await database.query(
      `SELECT ${COLUMNS} FROM research_metrics WHERE session_id IN (?, ?) AND id > ?${
        metric_type === undefined ? '' : ' AND metric_type = ?'
      } ORDER BY id LIMIT ?`,
      [...sessions, after, ...(metric_type === undefined ? [] : [metric_type]), limit]
    )
    const rows = rowsByName(found).map(each => toRow(each, kernel))
    return { rows, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) }
  }
}

function toRow(row: Record<string, SqlValue>, kernel: Pick<KernelPort, 'mask'>): Row {
  const metadata = metadataOf(row.metadata_json, text => kernel.mask(text))
  const text = (field: string): string | null => (typeof metadata[field] === 'string' ? metadata[field] : null)
  return {
    id: Number(row.id),
    session_id: String(row.session_id),
    metric_type: String(row.metric_type),
    name: text('name'),
    metric_value: typeof row.metric_value === 'number' ? row.metric_value : null,
    metric_value_unit: text('metric_value_unit'),
    fixture_id: text('fixture_id'),
    details: metadata.details ?? null,
    created_at: String(row.created_at)
  }
}

/** Returns the metadata of a row; an empty object if other programs wrote something else. */
function metadataOf(text: SqlValue | undefined, mask: (text: string) => string): Record<string, unknown> {
  try {
    const value = redact(JSON.parse(String(text)), mask)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

export function recordHandler({ recorder, settings }: Dependencies): Handler<typeof benchmarkRecord> {
  return async ({ results, source }) => {
    const recorded = await recorder.record(
      results.map(
        ({ metric_type, name, value = null, unit, fixture_id, details = {} }): BenchmarkResult => ({
          type: metric_type,
          name,
          value,
          ...defined({ unit, fixtureId: fixture_id }),
          details: { ...details, source }
        })
      )
    )
    if (recorded === results.length) return { recorded }
    const setting = settings().recording ? 'benchmarks and plugins.telemetry.syntax_k' : 'recording'
    return { recorded, note: `not recorded: see the settings plugins.telemetry.${setting}` }
  }
}

export function statusHandler(dependencies: Dependencies): Handler<typeof telemetryStatus> {
  const { settings, database, kernel, recorder, spool, trace } = dependencies
  const count = async (type: keyof typeof SESSION_PREFIX): Promise<number> => {
    const session = `${SESSION_PREFIX[type]}:${kernel.repositoryId}`
    const sql = 'SELECT count(*) FROM research_metrics WHERE session_id = ? AND metric_type = ?'
    return Number((await database.query(sql, [session, type])).rows[0]?.[0] ?? 0)
  }
  return async () => {
    const { recording, upload_url, upload_token } = settings()
    const { pending, bytes, oldest } = await spool.usage()
    return {
      recording,
      benchmarks: recorder.records('benchmark_event'),
      syntax_k: recorder.records('syntax_k_event'),
      benchmark_rows: await count('benchmark_event'),
      syntax_k_rows: await count('syntax_k_event'),
      pending,
      pending_bytes: bytes,
      oldest_at: oldest === null ? null : new Date(oldest).toISOString(),
      spool: spool.directory,
      upload_url: upload_url !== undefined && URL.canParse(upload_url) ? shownUrl(new URL(upload_url)) : null,
      token_set: upload_token !== undefined,
      trace_file: trace?.file ?? null,
      trace_bytes: trace === null ? 0 : await traceBytes(trace.file),
      trace_written: trace?.counts.written ?? 0,
      trace_dropped: trace?.counts.dropped ?? 0
    }
  }
}

export function doctorHandler(dependencies: Dependencies): Handler<typeof telemetryDoctor> {
  const { settings, database, recorder, spool, trace } = dependencies
  return async () => {
    const { recording, upload_url, upload_token } = settings()
    const checks: Infer<typeof telemetryDoctor.output>['checks'] = []
    const add = (check: string, ok: boolean, detail: string, hint: string | null = null) =>
      void checks.push({ check, ok, detail, hint: ok ? null : hint })
    add('switch', true, recording ? 'on' : 'off: nothing is recorded, queued or uploaded')
    const types = (['benchmark_event', 'syntax_k_event'] as const).filter(type => recorder.records(type))
    add('recorded types', true, types.length === 0 ? 'none' : types.join(', '))
    const table = await attempt(() => database.query('SELECT id FROM research_metrics LIMIT 1'))
    add('table research_metrics', table === null, table ?? 'readable', 'run: svc db status')
    const folder = await spool.problem()
    add(
      'upload queue',
      folder === null,
      folder ?? spool.directory,
      'make the folder writable, or set plugins.telemetry.spool_dir'
    )
    const usage = await spool.usage().catch(() => null)
    if (usage !== null) {
      add('payloads', true, `${usage.pending} pending, ${usage.bytes} bytes`)
      if (usage.unfinished > 0)
        add('unfinished payloads', true, `${usage.unfinished}; the next enqueue removes those of killed processes`)
    }
    const url = await attempt(async () => void uploadUrl(upload_url))
    if (upload_url === undefined) add('upload URL', true, 'not set: an upload needs --url')
    else add('upload URL', url === null, url ?? shownUrl(new URL(upload_url)), 'use an https:// URL')
    add('upload token', true, upload_token === undefined ? 'not set' : 'set')
    if (trace !== null) {
      const { written, dropped } = trace.counts
      add('dogfood trace', dropped === 0, `${trace.file}: ${written} lines written, ${dropped} dropped`, 'see the log')
    }
    return { healthy: checks.every(({ ok }) => ok), checks }
  }
}

async function attempt(run: () => Promise<unknown>): Promise<string | null> {
  try {
    await run()
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

export function enqueueHandler({ settings, spool, kernel, changed }: Dependencies): Handler<typeof telemetryEnqueue> {
  return async ({ payload }) => {
    assertOn(settings())
    const id = await spool.add(JSON.stringify(redact(objectIn(payload), text => kernel.mask(text))))
    changed()
    return { id }
  }
}

function objectIn(text: string): object {
  const refuse = (problem: string, cause?: unknown) =>
    telemetryErrors.create('TEL_PAYLOAD_INVALID', `the payload ${problem}`, {
      ...defined({ cause }),
      hint: `write a JSON object, such as '{"name": "value"}'`
    })
  let value: unknown
  try {
    value = readStrictJson(Buffer.from(text))
  } catch (error) {
    throw refuse(`is not JSON: ${errorMessage(error)}`, error)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('is not a JSON object')
  return value
}

export function uploadHandler(dependencies: Dependencies): Handler<typeof telemetryUpload> {
  const { settings, spool, kernel, log, changed } = dependencies
  return async ({ url: requested, dry_run }, { signal }) => {
    const { upload_url, upload_token, upload_timeout_ms } = settings()
    assertOn(settings())
    const url = uploadUrl(requested ?? upload_url)
    const { failures, ...report } = await upload({
      spool,
      url,
      // Another server than the configured one does not receive the token.
      token: isConfigured(url, upload_url) ? upload_token : undefined,
      timeoutMs: upload_timeout_ms,
      dryRun: dry_run,
      mask: text => kernel.mask(text),
      log,
      signal
    })
    if (report.sent > 0) changed()
    return { healthy: report.failed === 0, dry_run, url: shownUrl(url), ...report, failures: [...failures] }
  }
}

/** True if the URL belongs to the configured server, or none is configured. */
function isConfigured({ origin }: URL, upload_url: string | undefined): boolean {
  return upload_url === undefined || (URL.canParse(upload_url) && new URL(upload_url).origin === origin)
}

function assertOn({ recording }: Settings): void {
  if (recording) return
  throw telemetryErrors.create('TEL_OFF', 'telemetry is off: plugins.telemetry.recording is false', {
    at: { path: 'plugins.telemetry.recording' },
    hint: 'set it to true, or unset SVC_TELEMETRY'
  })
}
