import type { SqlParameter } from '../database/values.ts'
import { metricErrors } from './errors.ts'

/** Row of the table research_metrics. */
export interface ResearchMetric {
  /** Prefix and repository, such as `bench:my-project`; 1 to 512 characters. */
  readonly session: string
  /** 1 to 128 characters of `[A-Za-z0-9_.:-]`. */
  readonly type: string
  /** Null: the row has no single number. Stored as NULL, which aggregates skip. */
  readonly value: number | null
  /** At most 256 KiB as JSON. */
  readonly metadata: Readonly<Record<string, unknown>>
}

const MAX_METRIC_SESSION = 512
const MAX_METRIC_METADATA_BYTES = 262_144
const TYPE = /^[A-Za-z0-9_.:-]{1,128}$/

/**
 * Returns the statement that adds a row to research_metrics. Throws `TEL_METRIC_INVALID`; the message names the field,
 * but not its content.
 */
export function insertMetric({ session, type, value, metadata }: ResearchMetric): {
  readonly sql: string
  readonly parameters: readonly SqlParameter[]
} {
  if (session.length === 0 || session.length > MAX_METRIC_SESSION)
    throw invalid('session_id', `it has ${session.length} characters`, `use 1 to ${MAX_METRIC_SESSION} characters`)
  if (!TYPE.test(type))
    throw invalid('metric_type', `it has ${type.length} characters or a character that is not allowed`, TYPE_HINT)
  if (value !== null && !Number.isFinite(value))
    throw invalid('metric_value', `${value} is not a finite number`, 'leave the value out if there is none')
  const json = JSON.stringify(metadata)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_METRIC_METADATA_BYTES)
    throw invalid('metadata_json', `it has ${bytes} bytes`, `send at most ${MAX_METRIC_METADATA_BYTES} bytes`)
  return { sql: INSERT, parameters: [session, type, value, json] }
}

const INSERT = 'INSERT INTO research_metrics (session_id, metric_type, metric_value, metadata_json) VALUES (?, ?, ?, ?)'
const TYPE_HINT = 'use 1 to 128 letters, digits, and the characters _ . : -'

function invalid(field: string, problem: string, hint: string) {
  return metricErrors.create('TEL_METRIC_INVALID', `research_metrics.${field}: ${problem}`, { data: { field }, hint })
}
