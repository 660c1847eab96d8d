import { coordinationSql, DURABLE_BASELINE_TABLES } from '@svc/contracts'

/** Statements for the tables of runs and actors: those of the baseline schema, and additional ones of the runtime. */
export const DURABLE_TABLES: readonly string[] = [
  // A run is an item of a queue, whose fence refuses the writes of an earlier owner.
  ...coordinationSql.COORDINATION_TABLES,
  ...Object.values(DURABLE_BASELINE_TABLES),
  // State that the runtime needs to resume a run.
  `CREATE TABLE IF NOT EXISTS workflow_run_state (
  run_id TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  parent_run_id TEXT,
  args_json TEXT NOT NULL,
  result_json TEXT,
  wake_at_ms INTEGER,
  waiting_for TEXT
)`,
  // Generation of runs that called workflow.continue_as_new, and the last journal entry of the one before it.
  `CREATE TABLE IF NOT EXISTS workflow_run_generation (
  run_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  journal_id INTEGER NOT NULL
)`,
  // Hashes of the arguments of steps, as a JSON list: a changed argument is an error instead of an old result.
  `CREATE TABLE IF NOT EXISTS workflow_step_state (
  run_id TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  args_hashes TEXT NOT NULL,
  PRIMARY KEY (run_id, activity_id)
) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS workflow_run_state_program ON workflow_run_state (program, wake_at_ms)',
  'CREATE INDEX IF NOT EXISTS workflow_run_state_parent ON workflow_run_state (parent_run_id)',
  `CREATE TABLE IF NOT EXISTS workflow_journal (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  entry_json TEXT NOT NULL,
  recorded_at_ms INTEGER NOT NULL
)`,
  'CREATE INDEX IF NOT EXISTS workflow_journal_run ON workflow_journal (run_id, id)',
  // Runs to start on a server that hosts share, in the order of their transactions.
  `CREATE TABLE IF NOT EXISTS workflow_start_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  program TEXT NOT NULL,
  run_id TEXT NOT NULL,
  run_json TEXT NOT NULL,
  stored_at_ms INTEGER NOT NULL,
  UNIQUE (program, run_id)
)`,
  // Unhandled messages, in order of arrival.
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
