import { DURABLE_BASELINE_TABLES as tables } from '@svc/contracts'

/** Workflows, their activities and signals, plans, and the lineage of tasks. */
export const workflowTables = `
${tables.workflow_run_log};
CREATE INDEX IF NOT EXISTS workflow_run_log_status ON workflow_run_log (status, lease_until_ms);
${tables.workflow_activity_log};
${tables.workflow_activity_attempt_log};
${tables.workflow_signal_log};
CREATE INDEX IF NOT EXISTS workflow_signal_log_run ON workflow_signal_log (run_id, signal_key, consumed_at_ms);
${tables.actor_state};
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
CREATE INDEX IF NOT EXISTS orchestration_lineage_events_task ON orchestration_lineage_events (task_id);
CREATE TRIGGER IF NOT EXISTS orchestration_lineage_events_unchanged BEFORE UPDATE ON orchestration_lineage_events
  BEGIN SELECT RAISE(ABORT, 'orchestration_lineage_events is append-only'); END;
CREATE TRIGGER IF NOT EXISTS orchestration_lineage_events_kept BEFORE DELETE ON orchestration_lineage_events
  BEGIN SELECT RAISE(ABORT, 'orchestration_lineage_events is append-only'); END;
`
