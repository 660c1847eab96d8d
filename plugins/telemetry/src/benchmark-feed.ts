import { rowsByName, type SqlValue } from '@svc/contracts'
import { DeltaLog, deltaOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Dependencies } from './handlers.ts'
import { TELEMETRY_TOPIC } from './operations.ts'
import { SESSION_PREFIX } from './recorder.ts'

/** Newest results of both types together. */
const MAX_ROWS = 1_000
/** Details are shortened, since those of one result may be larger than a frame of the console. */
const MAX_DETAILS = 500
/** Read before secrets are masked, so that none is cut into a part that is not recognised. */
const READ_CHARS = 4_000

export const benchmarkFeed = deltaOperation({
  id: 'telemetry.benchmarks.feed',
  summary: 'Follow the newest 1,000 results of benchmarks',
  row: t.object({
    id: t.integer(),
    metric_type: t.string(),
    name: t.nullable(t.string()),
    metric_value: t.nullable(t.number()),
    metric_value_unit: t.nullable(t.string()),
    fixture_id: t.nullable(t.string()),
    details: t.nullable(t.string({ description: 'JSON, at most 500 characters.' })),
    created_at: t.string({ description: 'UTC, as YYYY-MM-DD HH:MM:SS.' })
  }),
  watch: { on: [TELEMETRY_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export function benchmarkFeedHandler({
  database,
  kernel
}: Pick<Dependencies, 'database' | 'kernel'>): Handler<typeof benchmarkFeed> {
  const log = new DeltaLog<ReturnType<typeof toRow>>()
  const mask = (text: string): string => kernel.mask(text)
  const sessions = Object.values(SESSION_PREFIX).map(prefix => `${prefix}:${kernel.repositoryId}`)
  const field = (name: string): string =>
    `substr(json_extract(metadata_json, '$.${name}'), 1, ${READ_CHARS}) AS ${name}`
  return async ({ since, limit }) => {
    const found = await database.query(
      `SELECT id, metric_type, metric_value, created_at, ${['name', 'metric_value_unit', 'fixture_id', 'details'].map(field).join(', ')}
       FROM research_metrics WHERE session_id IN (?, ?) AND json_valid(metadata_json) ORDER BY id DESC LIMIT ?`,
      [...sessions, MAX_ROWS]
    )
    log.replaceAll(
      rowsByName(found).map(each => toRow(each, mask)),
      ({ id }) => String(id)
    )
    const { upsert, remove, ...delta } = log.read(since, limit)
    return { ...delta, upsert: [...upsert], remove: [...remove] }
  }
}

function toRow(row: Record<string, SqlValue>, mask: (text: string) => string) {
  const text = (value: SqlValue | undefined): string | null =>
    typeof value === 'string' ? mask(value).slice(0, MAX_DETAILS) : null
  return {
    id: Number(row.id),
    metric_type: String(row.metric_type),
    name: text(row.name),
    metric_value: typeof row.metric_value === 'number' ? row.metric_value : null,
    metric_value_unit: text(row.metric_value_unit),
    fixture_id: text(row.fixture_id),
    details: text(row.details),
    created_at: String(row.created_at)
  }
}
