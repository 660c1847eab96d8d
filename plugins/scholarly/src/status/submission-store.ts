import type { RemoteStatus, SqlParameter, SqlValue } from '@svc/contracts'
import { objectOf } from '../jobs/job.ts'
import type { Tables } from '../jobs/tables.ts'
import type { StatusMeaning } from './mapping.ts'

/** A submission that an archive confirmed. Times are Unix milliseconds of the database. */
export interface Submission {
  readonly adapter: string
  readonly external_submission_id: string
  readonly publication_id: string
  readonly content_sha3_256: string
  readonly job_id: number | null
  /** Last status in the words of the archive. */
  readonly status: string
  /** Meaning of the status; `unknown`: quarantined until the archive reports a known one. */
  readonly outcome: StatusMeaning
  readonly response_fingerprint: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly submitted_at_ms: number
  readonly checked_at_ms: number | null
}

export interface SubmissionFilter {
  readonly publicationId?: string
  readonly adapter?: string
  readonly externalSubmissionId?: string
  readonly outcomes?: readonly StatusMeaning[]
  /** Only submissions to these archives. */
  readonly adapters?: readonly string[]
  /** Checked longest ago first, instead of newest first. */
  readonly oldestCheckFirst?: boolean
  readonly limit: number
}

const COLUMNS = `adapter, external_submission_id, publication_id, content_sha3_256, job_id, status, outcome,
  response_fingerprint, metadata_json, submitted_at_ms, checked_at_ms`

/** Confirmed submissions, and what their archives reported about them. */
export class SubmissionStore {
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  async find(adapter: string, externalSubmissionId: string): Promise<Submission | null> {
    const [found] = await this.list({ adapter, externalSubmissionId, limit: 1 })
    return found ?? null
  }

  async list(filter: SubmissionFilter): Promise<readonly Submission[]> {
    const { publicationId, adapter, adapters, externalSubmissionId, outcomes, oldestCheckFirst = false, limit } = filter
    const conditions: [string, SqlParameter | undefined][] = [
      ['publication_id = ?', publicationId],
      ['adapter = ?', adapter],
      ['external_submission_id = ?', externalSubmissionId],
      ['adapter IN (SELECT value FROM json_each(?))', adapters === undefined ? undefined : JSON.stringify(adapters)],
      ['outcome IN (SELECT value FROM json_each(?))', outcomes === undefined ? undefined : JSON.stringify(outcomes)]
    ]
    const used = conditions.filter(([, value]) => value !== undefined)
    const where = used.length === 0 ? '' : `WHERE ${used.map(([text]) => text).join(' AND ')}`
    const order = oldestCheckFirst ? 'coalesce(checked_at_ms, 0), id' : 'id DESC'
    const rows = await this.#tables.rows(
      `SELECT ${COLUMNS} FROM scholarly_submissions ${where} ORDER BY ${order} LIMIT ?`,
      [...used.map(([, value]) => value as SqlParameter), limit]
    )
    return rows.map(submissionOf)
  }

  /** Records that a check was tried, so that one that fails does not keep others waiting. */
  async markChecked({ adapter, external_submission_id }: Submission): Promise<void> {
    await this.#tables.write([
      {
        sql: `UPDATE scholarly_submissions SET checked_at_ms = ${this.#tables.now}
              WHERE adapter = ? AND external_submission_id = ?`,
        parameters: [adapter, external_submission_id]
      }
    ])
  }

  /**
   * Stores a status that the archive reported, with a snapshot, and moves the job of the submission: an acceptance lets it
   * succeed, a rejection fails it.
   */
  async saveStatus(
    submission: Submission,
    { status, detail_json }: RemoteStatus,
    meaning: StatusMeaning
  ): Promise<void> {
    const { adapter, external_submission_id, publication_id } = submission
    const { now } = this.#tables
    const id = [adapter, external_submission_id]
    const job = `id = (SELECT job_id FROM scholarly_submissions WHERE adapter = ? AND external_submission_id = ?)`
    const moves = {
      accepted: `SET status = 'succeeded', last_error_class = NULL, last_error_message = NULL,
        metadata_json = json_remove(coalesce(metadata_json, '{}'), '$.error_code'), updated_at_ms = ${now}
        WHERE ${job} AND status IN ('failed', 'succeeded')`,
      rejected: `SET status = 'failed', last_error_class = 'fatal', next_retry_at_ms = NULL,
        last_error_message = 'the archive rejected or withdrew the submission',
        metadata_json = json_set(coalesce(metadata_json, '{}'), '$.error_code', 'remote_rejected'), updated_at_ms = ${now}
        WHERE ${job} AND status IN ('failed', 'succeeded')`
    }
    const move = meaning === 'accepted' || meaning === 'rejected' ? moves[meaning] : null
    await this.#tables.write([
      {
        sql: `UPDATE scholarly_submissions SET status = ?, outcome = ?, checked_at_ms = ${now}, updated_at_ms = ${now}
              WHERE adapter = ? AND external_submission_id = ?`,
        parameters: [status, meaning, ...id]
      },
      {
        sql: `INSERT INTO external_status_snapshots
                (adapter, external_submission_id, publication_id, status, meaning, detail_json, taken_at_ms)
              VALUES (?, ?, ?, ?, ?, ?, ${now})`,
        parameters: [...id, publication_id, status, meaning, detail_json ?? null]
      },
      ...(move === null ? [] : [{ sql: `UPDATE external_submission_jobs ${move}`, parameters: id }])
    ])
  }
}

function submissionOf({ metadata_json, ...row }: Readonly<Record<string, SqlValue>>): Submission {
  return { ...(row as unknown as Omit<Submission, 'metadata'>), metadata: objectOf(metadata_json) }
}
