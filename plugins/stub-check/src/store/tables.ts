import { type DatabaseStore, rowsByName, type SqlStatement } from '@svc/contracts'

/** Tables of this plugin; they are not part of the baseline schema. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS toestub_task_queue (
  user_id TEXT NOT NULL,
  run_scope TEXT NOT NULL,
  total_findings INTEGER NOT NULL,
  fix_suggestions_json TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (user_id, run_scope)
);
CREATE TABLE IF NOT EXISTS toestub_baselines (
  name TEXT NOT NULL,
  run_scope TEXT NOT NULL,
  findings_json TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (name, run_scope)
);
CREATE TABLE IF NOT EXISTS toestub_file_cache (
  path TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  rules_version TEXT NOT NULL,
  result_json TEXT NOT NULL,
  PRIMARY KEY (path, content_hash, rules_version)
);
CREATE TABLE IF NOT EXISTS toestub_suppressions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  path TEXT NOT NULL,
  line INTEGER,
  rule_id TEXT NOT NULL,
  reason TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS toestub_suppressions_place
  ON toestub_suppressions (path, coalesce(line, 0), rule_id);
CREATE TABLE IF NOT EXISTS toestub_last_scans (
  run_scope TEXT PRIMARY KEY,
  envelope_json TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS toestub_baseline_runs (
  run_scope TEXT PRIMARY KEY,
  run_json TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS toestub_debt_signals (
  user_id TEXT NOT NULL,
  path TEXT NOT NULL,
  day TEXT NOT NULL,
  PRIMARY KEY (user_id, path, day)
);
`

/** Statements of one transaction, so that writers of other plugins need not wait long. */
const BATCH = 500

/** The tables of this plugin in the primary database, which are created at the first use. */
export class Tables {
  readonly #store: DatabaseStore
  #ready: Promise<void> | null = null

  constructor(store: DatabaseStore) {
    this.#store = store
  }

  async rows(sql: string, parameters: readonly (string | number | null)[] = []) {
    await this.#prepare()
    return rowsByName(await this.#store.query(sql, parameters))
  }

  async write(statements: readonly SqlStatement[]): Promise<number> {
    await this.#prepare()
    let changes = 0
    for (let at = 0; at < statements.length; at += BATCH)
      for (const result of await this.#store.batch(statements.slice(at, at + BATCH))) changes += result.changes
    return changes
  }

  async #prepare(): Promise<void> {
    this.#ready ??= this.#store.migrate(SCHEMA)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      throw error
    }
  }
}
