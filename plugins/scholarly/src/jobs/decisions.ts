import type { PlannedFile } from '@svc/contracts'
import type { Tables } from './tables.ts'

/** Decisions of people about jobs. Each changes a job only if it is in the right state. */
export class JobDecisions {
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /**
   * Queues a failed job again, with the files of its plan or with others. Returns false if it has not failed.
   */
  async replay(id: number, files?: readonly PlannedFile[]): Promise<boolean> {
    const [changes] = await this.#tables.write([
      {
        sql: `UPDATE external_submission_jobs
              SET status = 'queued', next_retry_at_ms = NULL, lock_owner = NULL, lock_expires_at_ms = NULL,
                updated_at_ms = ${this.#tables.now},
                metadata_json = json_remove(json_set(json_patch(coalesce(metadata_json, '{}'), ?),
                  '$.replays', coalesce(json_extract(metadata_json, '$.replays'), 0) + 1,
                  '$.attempts_before_replay', attempt_count), '$.error_code', '$.dismissed')
              WHERE id = ? AND status = 'failed'`,
        parameters: [JSON.stringify({ files }), id]
      }
    ])
    return changes === 1
  }

  /**
   * Ends a failed job with a submission that a person found at the archive. Returns false if the job is not in this state
   * any more, and then nothing has changed.
   */
  async record(id: number, externalSubmissionId: string, status: string, meaning: string): Promise<boolean> {
    const isOpen = `id = ? AND status = 'failed' AND json_extract(metadata_json, '$.error_code') = 'outcome_unknown'`
    const [, changes] = await this.#tables.write([
      {
        sql: `INSERT INTO scholarly_submissions (adapter, external_submission_id, publication_id, content_sha3_256,
                job_id, status, outcome, submitted_at_ms, updated_at_ms)
              SELECT adapter, ?, publication_id, content_sha3_256, id, ?, ?, ${this.#tables.now}, ${this.#tables.now}
              FROM external_submission_jobs WHERE ${isOpen}`,
        parameters: [externalSubmissionId, status, meaning, id]
      },
      {
        sql: `UPDATE external_submission_jobs
              SET status = 'succeeded', last_error_class = NULL, last_error_message = NULL,
                updated_at_ms = ${this.#tables.now},
                metadata_json = json_remove(json_set(metadata_json, '$.external_submission_id', ?), '$.error_code')
              WHERE ${isOpen}`,
        parameters: [externalSubmissionId, id]
      }
    ])
    return changes === 1
  }

  /** Removes a job from the inbox until it fails again. */
  async dismiss(id: number): Promise<void> {
    await this.#tables.write([
      {
        sql: `UPDATE external_submission_jobs
              SET metadata_json = json_set(coalesce(metadata_json, '{}'), '$.dismissed', json('true')) WHERE id = ?`,
        parameters: [id]
      }
    ])
  }

  /** Fails a job that has not ended; a process that runs it cannot continue. Returns false if it has ended. */
  async cancel(id: number, message: string): Promise<boolean> {
    const [changes] = await this.#tables.write([
      {
        sql: `UPDATE external_submission_jobs
              SET status = 'failed', next_retry_at_ms = NULL, lock_owner = NULL, lock_expires_at_ms = NULL,
                last_error_class = 'fatal', last_error_message = ?, updated_at_ms = ${this.#tables.now},
                metadata_json = json_set(coalesce(metadata_json, '{}'), '$.error_code', 'cancelled')
              WHERE id = ? AND status IN ('queued', 'running', 'retryable_failed')`,
        parameters: [message, id]
      }
    ])
    return changes === 1
  }
}
