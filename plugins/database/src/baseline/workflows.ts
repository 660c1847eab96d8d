/** Workflows, their activities and signals, plans, and the lineage of what was done. */
export const workflowTables = `
CREATE TABLE IF NOT EXISTS workflow_run_log (
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
);
CREATE INDEX IF NOT EXISTS workflow_run_log_status ON workflow_run_log (status, lease_until_ms);
CREATE TABLE IF NOT EXISTS workflow_activity_log (
  run_id TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  activity_name TEXT NOT NULL,
  activity_id TEXT NOT NULL,
  status TEXT NOT NULL,
  result_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, workflow_name, activity_id, status)
);
CREATE TABLE IF NOT EXISTS workflow_activity_attempt_log (
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
);
CREATE TABLE IF NOT EXISTS workflow_signal_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  signal_key TEXT NOT NULL,
  payload_json TEXT,
  recorded_at_ms INTEGER NOT NULL,
  consumed_at_ms INTEGER
);
CREATE INDEX IF NOT EXISTS workflow_signal_log_run ON workflow_signal_log (run_id, signal_key, consumed_at_ms);
CREATE TABLE IF NOT EXISTS actor_state (
  key TEXT PRIMARY KEY,
  value TEXT
);
CREATE TABLE IF NOT EXISTS plan_sessions (
  plan_session_id TEXT PRIMARY KEY,
  origin_session_id TEXT,
  goal_text TEXT NOT NULL,
  strategy TEXT,
  current_version INTEGER NOT NULL DEFAULT 1,
  status TEXT NOT NULL DEFAULT 'pending',
  question_session_id INTEGER,
  iterative_loop_round INTEGER NOT NULL DEFAULT 0,
  iterative_stop_reason TEXT,
  iterative_loop_metadata_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS plan_versions (
  plan_session_id TEXT NOT NULL REFERENCES plan_sessions (plan_session_id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  parent_version INTEGER,
  trigger_event TEXT,
  trigger_payload_json TEXT,
  quality_score REAL NOT NULL DEFAULT 0,
  reviewer_verdict TEXT NOT NULL DEFAULT 'pending',
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (plan_session_id, version)
);
CREATE TABLE IF NOT EXISTS plan_nodes (
  plan_session_id TEXT NOT NULL REFERENCES plan_sessions (plan_session_id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  dependencies_json TEXT NOT NULL DEFAULT '[]',
  execution_policy_json TEXT,
  status TEXT NOT NULL DEFAULT 'pending',
  workflow_invocation TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (plan_session_id, version, node_id)
);
CREATE TABLE IF NOT EXISTS plan_node_attempts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  plan_session_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  attempt_no INTEGER NOT NULL,
  task_id INTEGER,
  outcome TEXT,
  error_text TEXT,
  latency_ms INTEGER,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS plan_node_attempts_node ON plan_node_attempts (plan_session_id, version, node_id);
CREATE TABLE IF NOT EXISTS orchestration_lineage_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,
  task_id INTEGER NOT NULL DEFAULT 0,
  agent_id TEXT,
  session_id TEXT,
  workflow_id TEXT,
  plan_session_id TEXT,
  plan_node_id TEXT,
  payload_json TEXT,
  created_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS orchestration_lineage_events_task ON orchestration_lineage_events (repository_id, task_id);
CREATE INDEX IF NOT EXISTS orchestration_lineage_events_time ON orchestration_lineage_events (repository_id, created_at_ms);
CREATE INDEX IF NOT EXISTS orchestration_lineage_events_kind ON orchestration_lineage_events (repository_id, kind);
CREATE TRIGGER IF NOT EXISTS orchestration_lineage_events_unchanged BEFORE UPDATE ON orchestration_lineage_events
  BEGIN SELECT RAISE(ABORT, 'orchestration_lineage_events takes new rows alone'); END;
CREATE TRIGGER IF NOT EXISTS orchestration_lineage_events_kept BEFORE DELETE ON orchestration_lineage_events
  BEGIN SELECT RAISE(ABORT, 'orchestration_lineage_events takes new rows alone'); END;
`
