import {
  coordinationSql,
  type DatabaseStore,
  type DatabaseTransaction,
  rowsByName,
  type SqlParameter,
  type SqlStatement,
  type SqlValue
} from '@svc/contracts'

/**
 * Tables of this plugin. `external_submission_jobs` and `external_submission_attempts` are part of the baseline schema.
 *
 * `scholarly_job_state`: what a job needs after the end of its process. `lock_generation` increases with each claim: a
 * write of a former holder no longer matches.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS scholarly_job_state (
  job_id INTEGER PRIMARY KEY,
  lock_generation INTEGER NOT NULL DEFAULT 0,
  checkpoint_json TEXT,
  receipt_json TEXT,
  updated_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS scholarly_submissions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  adapter TEXT NOT NULL,
  external_submission_id TEXT NOT NULL,
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  job_id INTEGER,
  status TEXT NOT NULL,
  outcome TEXT NOT NULL DEFAULT 'pending',
  response_fingerprint TEXT,
  metadata_json TEXT,
  submitted_at_ms INTEGER NOT NULL,
  checked_at_ms INTEGER,
  updated_at_ms INTEGER NOT NULL,
  UNIQUE (adapter, external_submission_id)
);
CREATE INDEX IF NOT EXISTS scholarly_submissions_publication ON scholarly_submissions (publication_id);
CREATE TABLE IF NOT EXISTS external_status_snapshots (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  adapter TEXT NOT NULL,
  external_submission_id TEXT NOT NULL,
  publication_id TEXT NOT NULL,
  status TEXT NOT NULL,
  meaning TEXT NOT NULL,
  detail_json TEXT,
  taken_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS external_status_snapshots_submission
  ON external_status_snapshots (adapter, external_submission_id);
`

/**
 * The tables in the primary database, created at the first use. The database's clock decides what is due and which locks
 * have expired, since hosts may have other times.
 */
export class Tables {
  readonly #database: DatabaseStore
  /** SQL expression of the time in Unix milliseconds. */
  readonly now: string
  #ready: Promise<void> | null = null

  constructor(database: DatabaseStore, now: string = coordinationSql.NOW_MS) {
    this.#database = database
    this.now = now
  }

  async rows(sql: string, parameters: readonly SqlParameter[] = []): Promise<Record<string, SqlValue>[]> {
    await this.#prepare()
    return rowsByName(await this.#database.query(sql, parameters))
  }

  /** Runs statements in one transaction; returns how many rows each changed. */
  async write(statements: readonly SqlStatement[]): Promise<readonly number[]> {
    await this.#prepare()
    return (await this.#database.batch(statements)).map(({ changes }) => changes)
  }

  async transaction<A>(run: (tx: DatabaseTransaction) => Promise<A>): Promise<A> {
    await this.#prepare()
    return this.#database.transaction(run)
  }

  async #prepare(): Promise<void> {
    this.#ready ??= this.#database.migrate(SCHEMA)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      throw error
    }
  }
}
