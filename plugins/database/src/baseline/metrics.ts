/** Metrics, reliability of agents, and decisions of the reward component. */
export const metricTables = `
CREATE TABLE IF NOT EXISTS research_metrics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  metric_type TEXT NOT NULL,
  metric_value REAL,
  metadata_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS research_metrics_session ON research_metrics (session_id, metric_type);
CREATE TABLE IF NOT EXISTS agent_reliability (
  agent_id TEXT PRIMARY KEY,
  reliability REAL NOT NULL DEFAULT 0.5,
  success_count INTEGER NOT NULL DEFAULT 0,
  failure_count INTEGER NOT NULL DEFAULT 0,
  updated_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS agent_exec_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tool_key TEXT NOT NULL,
  repository_id TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL,
  duration_ms REAL NOT NULL,
  timeout_budget_ms REAL,
  compute_tokens_used INTEGER,
  vendor_cost_usd_micros INTEGER,
  attention_cost_ms REAL,
  recorded_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_exec_history_tool ON agent_exec_history (repository_id, tool_key, recorded_at);
CREATE TABLE IF NOT EXISTS gamify_policy_snapshots (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  base_xp INTEGER NOT NULL DEFAULT 0,
  base_crystals INTEGER NOT NULL DEFAULT 0,
  base_lumens INTEGER NOT NULL DEFAULT 0,
  mode_label TEXT NOT NULL DEFAULT '',
  effective_multiplier REAL NOT NULL DEFAULT 1.0,
  awarded_xp INTEGER NOT NULL DEFAULT 0,
  awarded_crystals INTEGER NOT NULL DEFAULT 0,
  awarded_lumens INTEGER NOT NULL DEFAULT 0,
  streak_days INTEGER NOT NULL DEFAULT 0,
  grind_capped INTEGER NOT NULL DEFAULT 0,
  metadata_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS gamify_policy_snapshots_user ON gamify_policy_snapshots (user_id, created_at);
`
