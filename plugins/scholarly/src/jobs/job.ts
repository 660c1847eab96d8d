import type { FailureClass, PlannedFile, SqlValue } from '@svc/contracts'

export const JOB_STATES = ['queued', 'running', 'retryable_failed', 'failed', 'succeeded'] as const
export type JobState = (typeof JOB_STATES)[number]

/** Job that submits one digest of a publication to one archive. Times are Unix milliseconds of the database. */
export interface Job {
  readonly id: number
  readonly publication_id: string
  readonly content_sha3_256: string
  readonly adapter: string
  readonly operation: string
  readonly idempotency_key: string
  readonly status: JobState
  readonly lock_owner: string | null
  readonly lock_expires_at_ms: number | null
  readonly next_retry_at_ms: number | null
  readonly attempt_count: number
  readonly last_error_class: string | null
  readonly last_error_message: string | null
  readonly metadata: JobMetadata
  readonly created_at_ms: number
  readonly updated_at_ms: number
}

/** Contents of `metadata_json`. */
export interface JobMetadata {
  /** Code of the last failure, such as `http_500` or `outcome_unknown`. */
  readonly error_code?: string
  readonly external_submission_id?: string
  /** Files of the plan when the job was created, or replayed with new ones. Absent for jobs of older versions. */
  readonly files?: readonly PlannedFile[]
  /** How often a person queued the failed job again. */
  readonly replays?: number
  /** Value of `attempt_count` at the last replay; `max_attempts` counts from it. */
  readonly attempts_before_replay?: number
  /** Whether a person removed the failed job from the inbox. */
  readonly dismissed?: boolean
}

/** Columns of {@link Job}, for SELECT and RETURNING. */
export const JOB_COLUMNS = [
  'id',
  'publication_id',
  'content_sha3_256',
  'adapter',
  'operation',
  'idempotency_key',
  'status',
  'lock_owner',
  'lock_expires_at_ms',
  'next_retry_at_ms',
  'attempt_count',
  'last_error_class',
  'last_error_message',
  'metadata_json',
  'created_at_ms',
  'updated_at_ms'
].join(', ')

export function jobOf({ metadata_json, ...row }: Readonly<Record<string, SqlValue>>): Job {
  return { ...(row as unknown as Omit<Job, 'metadata'>), metadata: objectOf(metadata_json) }
}

/** Parses the text of a JSON object; an empty object for anything else. */
export function objectOf(text: SqlValue | undefined): Record<string, unknown> {
  if (typeof text !== 'string') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as never) : {}
  } catch {
    return {}
  }
}

export function idempotencyKey(adapter: string, publicationId: string, digest: string, operation: string): string {
  return `${adapter}:${publicationId}:${digest}:${operation}`
}

/** How a run of a job ended without success. */
export interface JobFailure {
  readonly failureClass: FailureClass
  readonly code: string
  readonly message: string
  /** Milliseconds until the next attempt; null: the job has failed. */
  readonly retryInMs: number | null
  /** False for a run that did not reach the archive, such as one that waits for approvals. */
  readonly counts: boolean
}

const RATE_LIMIT_MS = 60_000
const TRANSIENT_MS = 30_000
/** Delay while the gate is shut: approvals, arming or a switch. */
export const GATE_MS = 300_000
/** Longer requests to wait are cut, so that a job is not forgotten. */
const MAX_RETRY_MS = 7 * 86_400_000

/** Returns the delay after a failure of a class in milliseconds; null for classes that are not repeated. */
export function retryDelay(failureClass: FailureClass, retryAfterMs?: number): number | null {
  if (failureClass === 'rate_limit') return Math.min(retryAfterMs ?? RATE_LIMIT_MS, MAX_RETRY_MS)
  if (failureClass === 'transient') return Math.min(Math.max(TRANSIENT_MS, retryAfterMs ?? 0), MAX_RETRY_MS)
  return failureClass === 'disabled' ? GATE_MS : null
}
