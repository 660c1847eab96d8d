/**
 * The tables that runs and actors stand in. The first four are in the baseline schema of the primary database, with the same
 * columns; a database that a program brings itself has none of them.
 */
export const DURABLE_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS workflow_run_log (
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
  `CREATE TABLE IF NOT EXISTS workflow_activity_log (
  run_id TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  activity_name TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  status TEXT NOT NULL,
  result_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, workflow_name, activity_id, status)
)`,
  `CREATE TABLE IF NOT EXISTS workflow_activity_attempt_log (
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
  `CREATE TABLE IF NOT EXISTS workflow_signal_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  signal_key TEXT NOT NULL,
  payload_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  consumed_at_ms INTEGER
)`,
  `CREATE TABLE IF NOT EXISTS actor_state (
  key TEXT PRIMARY KEY,
  value TEXT
)`,
  // What the runtime needs of a run to go on with it.
  `CREATE TABLE IF NOT EXISTS workflow_run_state (
  run_id TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  parent_run_id TEXT,
  args_json TEXT NOT NULL,
  result_json TEXT,
  wake_at_ms INTEGER,
  waiting_for TEXT
)`,
  'CREATE INDEX IF NOT EXISTS workflow_run_state_program ON workflow_run_state (program, wake_at_ms)',
  `CREATE TABLE IF NOT EXISTS workflow_journal (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  entry_json TEXT NOT NULL,
  recorded_at_ms INTEGER NOT NULL
)`,
  'CREATE INDEX IF NOT EXISTS workflow_journal_run ON workflow_journal (run_id, id)',
  // Messages that no handler has taken yet, in the order in which they came.
  `CREATE TABLE IF NOT EXISTS actor_mailbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  program TEXT NOT NULL,
  actor TEXT NOT NULL,
  instance TEXT NOT NULL,
  spawned_json TEXT NOT NULL,
  event TEXT NOT NULL,
  args_json TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before_ms INTEGER NOT NULL,
  last_error TEXT,
  given_up_at_ms INTEGER
)`,
  'CREATE INDEX IF NOT EXISTS actor_mailbox_instance ON actor_mailbox (program, actor, instance, id)'
]
