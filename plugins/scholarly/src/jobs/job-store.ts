import { rowsByName, type SqlParameter, type SqlStatement, type SubmissionReceipt } from '@svc/contracts'
import { scholarlyErrors } from '../errors.ts'
import { JOB_COLUMNS, type Job, type JobFailure, type JobMetadata, type JobState, jobOf, objectOf } from './job.ts'
import type { Tables } from './tables.ts'

/** A job with its lock. Writes with it have no effect after another process has claimed the job. */
export interface ClaimedJob {
  readonly job: Job
  readonly owner: string
  readonly generation: number
  readonly attemptId: number
  readonly checkpoint: Readonly<Record<string, unknown>> | null
  /** Receipt of an attempt that ended before the job did. */
  readonly receipt: SubmissionReceipt | null
}

/** Outcome of the exchanges of an attempt. */
export interface AttemptReport {
  readonly http_status: number | null
  readonly request_fingerprint: string | null
  readonly response_fingerprint: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

export interface StoredAttempt {
  readonly id: number
  readonly job_id: number
  readonly attempted_at_ms: number
  readonly http_status: number | null
  readonly error_class: string | null
  readonly retryable: boolean | null
  readonly request_fingerprint: string | null
  readonly response_fingerprint: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

export interface JobFilter {
  readonly status?: JobState
  readonly publicationId?: string
  readonly adapter?: string
  readonly limit: number
}

type Statement = Exclude<SqlStatement, string>

const MAX_MESSAGE = 2_000

/** Condition on a job that a claim holds its lock, with the parameters of {@link held}. */
const HOLDS = `id = ? AND status = 'running' AND lock_owner = ?
  AND EXISTS (SELECT 1 FROM scholarly_job_state WHERE job_id = ? AND lock_generation = ?)`

function held({ job, owner, generation }: ClaimedJob): readonly SqlParameter[] {
  return [job.id, owner, job.id, generation]
}

/** Jobs in the primary database. */
export class JobStore {
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Queues a job. Returns the existing one, and false, if a job has the same key. */
  async enqueue(
    fields: Pick<Job, 'publication_id' | 'content_sha3_256' | 'adapter' | 'operation' | 'idempotency_key'> &
      Pick<JobMetadata, 'files'>
  ): Promise<{ readonly job: Job; readonly isNew: boolean }> {
    const { publication_id, content_sha3_256, adapter, operation, idempotency_key, files } = fields
    const [changes] = await this.#tables.write([
      {
        sql: `INSERT INTO external_submission_jobs (publication_id, content_sha3_256, adapter, operation, idempotency_key,
                status, metadata_json, created_at_ms, updated_at_ms)
              VALUES (?, ?, ?, ?, ?, 'queued', ?, ${this.#tables.now}, ${this.#tables.now})
              ON CONFLICT (idempotency_key) DO NOTHING`,
        parameters: [publication_id, content_sha3_256, adapter, operation, idempotency_key, JSON.stringify({ files })]
      }
    ])
    const job = await this.findByKey(idempotency_key)
    if (job === null)
      throw scholarlyErrors.create('SCH_JOB_UNKNOWN', `job ${idempotency_key} was removed; submit again`)
    return { job, isNew: changes === 1 }
  }

  async findByKey(idempotencyKey: string): Promise<Job | null> {
    const [row] = await this.#tables.rows(
      `SELECT ${JOB_COLUMNS} FROM external_submission_jobs WHERE idempotency_key = ?`,
      [idempotencyKey]
    )
    return row === undefined ? null : jobOf(row)
  }

  /** Throws `SCH_JOB_UNKNOWN`. */
  async get(id: number): Promise<Job> {
    const [row] = await this.#tables.rows(`SELECT ${JOB_COLUMNS} FROM external_submission_jobs WHERE id = ?`, [id])
    if (row === undefined)
      throw scholarlyErrors.create('SCH_JOB_UNKNOWN', `job ${id} does not exist`, { hint: 'svc scholarly jobs' })
    return jobOf(row)
  }

  /** Returns jobs, newest first. */
  async list({ status, publicationId, adapter, limit }: JobFilter): Promise<readonly Job[]> {
    const filters: [string, SqlParameter | undefined][] = [
      ['status = ?', status],
      ['publication_id = ?', publicationId],
      ['adapter = ?', adapter]
    ]
    const used = filters.filter(([, value]) => value !== undefined)
    const where = used.length === 0 ? '' : `WHERE ${used.map(([text]) => text).join(' AND ')}`
    const rows = await this.#tables.rows(
      `SELECT ${JOB_COLUMNS} FROM external_submission_jobs ${where} ORDER BY id DESC LIMIT ?`,
      [...used.map(([, value]) => value as SqlParameter), limit]
    )
    return rows.map(jobOf)
  }

  /** Returns the ids of due jobs with their archives, longest due first. */
  async due(limit: number): Promise<readonly { readonly id: number; readonly adapter: string }[]> {
    const rows = await this.#tables.rows(
      `SELECT id, adapter FROM external_submission_jobs WHERE ${this.#due()}
       ORDER BY coalesce(next_retry_at_ms, lock_expires_at_ms, created_at_ms), id LIMIT ?`,
      [limit]
    )
    return rows as never
  }

  /** Takes the lock of a job that is due, and begins an attempt; null if it is not due. */
  async claim(id: number, owner: string, ttlMs: number): Promise<ClaimedJob | null> {
    return this.#tables.transaction(async tx => {
      const claimed = await tx.execute(
        `UPDATE external_submission_jobs
         SET status = 'running', lock_owner = ?, lock_expires_at_ms = ${this.#tables.now} + ?, next_retry_at_ms = NULL,
           attempt_count = attempt_count + 1, updated_at_ms = ${this.#tables.now}
         WHERE id = ? AND (${this.#due()}) RETURNING ${JOB_COLUMNS}`,
        [owner, ttlMs, id]
      )
      const [row] = rowsByName(claimed)
      if (row === undefined) return null
      const [state] = rowsByName(
        await tx.execute(
          `INSERT INTO scholarly_job_state (job_id, lock_generation, updated_at_ms) VALUES (?, 1, ${this.#tables.now})
           ON CONFLICT (job_id) DO UPDATE SET lock_generation = lock_generation + 1, updated_at_ms = excluded.updated_at_ms
           RETURNING lock_generation, checkpoint_json, receipt_json`,
          [id]
        )
      )
      // An attempt without an end was cut off with its process.
      await tx.execute(
        `UPDATE external_submission_attempts SET error_class = 'transient', retryable = 1,
           detail_json = json_set(coalesce(detail_json, '{}'), '$.outcome', 'interrupted')
         WHERE job_id = ? AND json_extract(detail_json, '$.outcome') = 'started'`,
        [id]
      )
      const { lastInsertId } = await tx.execute(
        `INSERT INTO external_submission_attempts (job_id, attempted_at_ms, detail_json) VALUES (?, ${this.#tables.now}, ?)`,
        [id, JSON.stringify({ outcome: 'started', owner })]
      )
      return {
        job: jobOf(row),
        owner,
        generation: Number(state?.lock_generation),
        attemptId: Number(lastInsertId),
        checkpoint: typeof state?.checkpoint_json === 'string' ? objectOf(state.checkpoint_json) : null,
        receipt: typeof state?.receipt_json === 'string' ? (objectOf(state.receipt_json) as never) : null
      }
    })
  }

  /** Extends the lock. Throws `SCH_LEASE_LOST`. */
  async renew(claim: ClaimedJob, ttlMs: number): Promise<void> {
    await this.#fenced(claim, [], this.#extension(claim, ttlMs))
  }

  /** Makes a checkpoint durable, and extends the lock. Throws `SCH_LEASE_LOST`. */
  async saveCheckpoint(
    claim: ClaimedJob,
    checkpoint: Readonly<Record<string, unknown>>,
    ttlMs: number,
    report: AttemptReport
  ): Promise<void> {
    await this.#saveState(claim, 'checkpoint_json', JSON.stringify(checkpoint), ttlMs, report)
  }

  /** Makes a receipt durable, so that the archive is not called again. Throws `SCH_LEASE_LOST`. */
  async saveReceipt(
    claim: ClaimedJob,
    receipt: SubmissionReceipt,
    ttlMs: number,
    report: AttemptReport
  ): Promise<void> {
    await this.#saveState(claim, 'receipt_json', JSON.stringify(receipt), ttlMs, report)
  }

  /** Ends a job with success, and stores its submission. Throws `SCH_LEASE_LOST`. */
  async succeed(claim: ClaimedJob, receipt: SubmissionReceipt, meaning: string, report: AttemptReport): Promise<void> {
    const { job } = claim
    const { external_submission_id, status, response_fingerprint = null, metadata_json = null } = receipt
    await this.#fenced(
      claim,
      [
        {
          sql: `INSERT INTO scholarly_submissions (adapter, external_submission_id, publication_id, content_sha3_256,
                  job_id, status, outcome, response_fingerprint, metadata_json, submitted_at_ms, updated_at_ms)
                SELECT ?, ?, publication_id, content_sha3_256, id, ?, ?, ?, ?, ${this.#tables.now}, ${this.#tables.now}
                FROM external_submission_jobs WHERE ${HOLDS}
                ON CONFLICT (adapter, external_submission_id) DO UPDATE SET updated_at_ms = excluded.updated_at_ms`,
          parameters: [
            job.adapter,
            external_submission_id,
            status,
            meaning,
            response_fingerprint,
            metadata_json,
            ...held(claim)
          ]
        },
        {
          sql: `INSERT INTO external_status_snapshots
                  (adapter, external_submission_id, publication_id, status, meaning, detail_json, taken_at_ms)
                SELECT ?, ?, publication_id, ?, ?, ?, ${this.#tables.now} FROM external_submission_jobs WHERE ${HOLDS}`,
          parameters: [
            job.adapter,
            external_submission_id,
            status,
            meaning,
            JSON.stringify({ source: 'receipt' }),
            ...held(claim)
          ]
        },
        this.#attempt(claim, null, null, { ...report, detail: { ...report.detail, outcome: 'succeeded' } })
      ],
      {
        sql: `UPDATE external_submission_jobs
              SET status = 'succeeded', lock_owner = NULL, lock_expires_at_ms = NULL, next_retry_at_ms = NULL,
                last_error_class = NULL, last_error_message = NULL, updated_at_ms = ${this.#tables.now},
                metadata_json = json_remove(json_set(coalesce(metadata_json, '{}'), '$.external_submission_id', ?),
                  '$.error_code')
              WHERE ${HOLDS}`,
        parameters: [external_submission_id, ...held(claim)]
      }
    )
  }

  /** Ends a run with a failure. Throws `SCH_LEASE_LOST`. */
  async fail(claim: ClaimedJob, failure: JobFailure, report: AttemptReport): Promise<void> {
    const { failureClass, code, counts, retryInMs } = failure
    const message = failure.message.slice(0, MAX_MESSAGE)
    const isRetried = retryInMs !== null
    const detail = { ...report.detail, outcome: 'failed', code, message }
    await this.#fenced(claim, [this.#attempt(claim, failureClass, isRetried, { ...report, detail })], {
      sql: `UPDATE external_submission_jobs
            SET status = ?, lock_owner = NULL, lock_expires_at_ms = NULL, updated_at_ms = ${this.#tables.now},
              next_retry_at_ms = ${this.#tables.now} + ?, attempt_count = attempt_count - ?,
              last_error_class = ?, last_error_message = ?,
              metadata_json = json_set(coalesce(metadata_json, '{}'), '$.error_code', ?)
            WHERE ${HOLDS}`,
      parameters: [
        isRetried ? 'retryable_failed' : 'failed',
        isRetried ? Math.round(retryInMs) : null,
        counts ? 0 : 1,
        failureClass,
        message,
        code,
        ...held(claim)
      ]
    })
  }

  /** Returns the attempts of a job, newest first. */
  async attempts(jobId: number, limit: number): Promise<readonly StoredAttempt[]> {
    const rows = await this.#tables.rows(
      `SELECT id, job_id, attempted_at_ms, http_status, error_class, retryable, request_fingerprint,
         response_fingerprint, detail_json
       FROM external_submission_attempts WHERE job_id = ? ORDER BY id DESC LIMIT ?`,
      [jobId, limit]
    )
    return rows.map(({ detail_json, retryable, ...row }) => ({
      ...(row as unknown as Omit<StoredAttempt, 'detail' | 'retryable'>),
      retryable: retryable === null ? null : retryable === 1,
      detail: objectOf(detail_json)
    }))
  }

  #due(): string {
    return `(status = 'queued' OR status = 'retryable_failed') AND coalesce(next_retry_at_ms, 0) <= ${this.#tables.now}
      OR status = 'running' AND coalesce(lock_expires_at_ms, 0) < ${this.#tables.now}`
  }

  #saveState(
    claim: ClaimedJob,
    column: 'checkpoint_json' | 'receipt_json',
    text: string,
    ttlMs: number,
    report: AttemptReport
  ): Promise<void> {
    const { job, generation } = claim
    return this.#fenced(
      claim,
      [
        {
          sql: `UPDATE scholarly_job_state SET ${column} = ?, updated_at_ms = ${this.#tables.now}
                WHERE job_id = ? AND lock_generation = ?
                  AND EXISTS (SELECT 1 FROM external_submission_jobs WHERE ${HOLDS})`,
          parameters: [text, job.id, generation, ...held(claim)]
        },
        this.#attempt(claim, null, null, { ...report, detail: { ...report.detail, outcome: 'started' } })
      ],
      this.#extension(claim, ttlMs)
    )
  }

  #extension(claim: ClaimedJob, ttlMs: number): Statement {
    return {
      sql: `UPDATE external_submission_jobs SET lock_expires_at_ms = ${this.#tables.now} + ? WHERE ${HOLDS}`,
      parameters: [ttlMs, ...held(claim)]
    }
  }

  /** Updates the row of the claim's attempt, unless it has ended. */
  #attempt(
    claim: ClaimedJob,
    errorClass: string | null,
    isRetryable: boolean | null,
    { http_status, request_fingerprint, response_fingerprint, detail }: AttemptReport
  ): Statement {
    return {
      sql: `UPDATE external_submission_attempts
            SET http_status = ?, error_class = ?, retryable = ?, request_fingerprint = ?, response_fingerprint = ?,
              detail_json = ?
            WHERE id = ? AND EXISTS (SELECT 1 FROM external_submission_jobs WHERE ${HOLDS})`,
      parameters: [
        http_status,
        errorClass,
        isRetryable,
        request_fingerprint,
        response_fingerprint,
        JSON.stringify({ owner: claim.owner, ...detail }),
        claim.attemptId,
        ...held(claim)
      ]
    }
  }

  /**
   * Runs statements in one transaction, the last of which changes the job. Each checks the claim itself. Throws
   * `SCH_LEASE_LOST` if it no longer holds, and then nothing has changed.
   */
  async #fenced(claim: ClaimedJob, statements: readonly Statement[], last: Statement): Promise<void> {
    const changes = await this.#tables.write([...statements, last])
    if (changes.at(-1) !== 1)
      throw scholarlyErrors.create('SCH_LEASE_LOST', `job ${claim.job.id}: another process has taken over the job`)
  }
}
