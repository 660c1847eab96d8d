/**
 * Tables of the baseline schema for workflow runs and actor state, by name. A database whose schema comes from a
 * program gets only these. The baseline digest covers them, so a change here changes the schema's version.
 */
export const DURABLE_BASELINE_TABLES = {
  workflow_run_log: `CREATE TABLE IF NOT EXISTS workflow_run_log (
  run_id TEXT PRIMARY KEY,
  workflow_name TEXT NOT NULL,
  status TEXT NOT NULL,
  planned_steps INTEGER NOT NULL DEFAULT 0,
  completed_steps INTEGER NOT NULL DEFAULT 0,
  plan_session_id TEXT,
  plan_node_id TEXT,
  plan_version INTEGER,
  lease_owner TEXT,
  lease_until_ms INTEGER,
  started_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  completed_at_ms INTEGER,
  last_error TEXT
)`,
  workflow_activity_log: `CREATE TABLE IF NOT EXISTS workflow_activity_log (
  run_id TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  activity_name TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  status TEXT NOT NULL,
  result_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, workflow_name, activity_id, status)
)`,
  workflow_activity_attempt_log: `CREATE TABLE IF NOT EXISTS workflow_activity_attempt_log (
  run_id TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  attempt_no INTEGER NOT NULL,
  status TEXT NOT NULL,
  worker_owner TEXT,
  lease_until_ms INTEGER,
  error TEXT,
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, workflow_name, activity_id, attempt_no, status)
)`,
  workflow_signal_log: `CREATE TABLE IF NOT EXISTS workflow_signal_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  signal_key TEXT NOT NULL,
  payload_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  consumed_at_ms INTEGER
)`,
  actor_state: `CREATE TABLE IF NOT EXISTS actor_state (
  key TEXT PRIMARY KEY,
  value TEXT
)`
} as const
