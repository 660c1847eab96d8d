/** Agents, with their sessions, messages, locks and questions. */
export const coordinationTables = `
CREATE TABLE IF NOT EXISTS a2a_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message_uuid TEXT NOT NULL UNIQUE,
  sender_agent TEXT NOT NULL,
  receiver_agent TEXT NOT NULL,
  msg_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 1,
  thread_id TEXT,
  acknowledged INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  repository_id TEXT,
  claim_owner TEXT,
  claim_until_ms INTEGER,
  delivery_attempts INTEGER NOT NULL DEFAULT 0,
  last_claim_error TEXT,
  processed_at_ms INTEGER
);
CREATE INDEX IF NOT EXISTS a2a_messages_inbox ON a2a_messages (receiver_agent, acknowledged, id);
CREATE TABLE IF NOT EXISTS a2a_message_details (
  message_id INTEGER PRIMARY KEY REFERENCES a2a_messages (id) ON DELETE CASCADE,
  correlation_id TEXT,
  tenant_id TEXT,
  idempotency_key TEXT,
  clarification_intent TEXT,
  hypothesis_set_id TEXT,
  question_kind TEXT,
  expected_information_gain_bits REAL,
  expected_user_cost REAL,
  requested_evidence_dimensions_json TEXT,
  urgency TEXT,
  stop_policy_json TEXT
);
CREATE TABLE IF NOT EXISTS distributed_locks (
  lock_key TEXT NOT NULL,
  repository_id TEXT NOT NULL DEFAULT '',
  holder_node TEXT NOT NULL,
  holder_agent TEXT,
  fence_token INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (lock_key, repository_id)
);
CREATE TABLE IF NOT EXISTS agent_sessions (
  id TEXT PRIMARY KEY,
  agent_id TEXT,
  repository_id TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT 'active',
  metadata_json TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS agent_session_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES agent_sessions (id) ON DELETE CASCADE,
  event_type TEXT NOT NULL,
  payload_json TEXT,
  created_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_session_events_session ON agent_session_events (session_id, id);
CREATE TABLE IF NOT EXISTS agent_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload_json TEXT,
  cli_version TEXT,
  timestamp TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS agent_events_agent ON agent_events (agent_id, id);
CREATE TABLE IF NOT EXISTS agent_oplog (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT NOT NULL,
  operation_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  predecessor_hash TEXT,
  model_id TEXT,
  change_id TEXT,
  timestamp_ms INTEGER NOT NULL,
  undone INTEGER NOT NULL DEFAULT 0,
  repository_id TEXT
);
CREATE TABLE IF NOT EXISTS mesh_heartbeats (
  node_id TEXT NOT NULL,
  agent_id TEXT,
  last_seen_ms INTEGER NOT NULL,
  activity TEXT,
  repository_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (node_id, repository_id)
);
CREATE TABLE IF NOT EXISTS cost_records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT,
  session_id TEXT,
  tenant_id TEXT,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  timestamp TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS question_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  repository_id TEXT NOT NULL DEFAULT '',
  task_id INTEGER,
  policy_version TEXT NOT NULL DEFAULT 'v1',
  started_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  resolution_status TEXT NOT NULL DEFAULT 'open',
  belief_state_json TEXT
);
CREATE INDEX IF NOT EXISTS question_sessions_open ON question_sessions (session_id, repository_id, ended_at_ms);
CREATE TABLE IF NOT EXISTS question_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  question_session_id INTEGER NOT NULL REFERENCES question_sessions (id) ON DELETE CASCADE,
  question_id TEXT NOT NULL,
  turn_index INTEGER NOT NULL,
  actor TEXT NOT NULL DEFAULT 'assistant',
  question_kind TEXT NOT NULL,
  prompt TEXT NOT NULL,
  expected_information_gain_bits REAL,
  expected_user_cost REAL,
  utility_bits_per_cost REAL,
  answer_text TEXT,
  answer_type TEXT,
  answered_at_ms INTEGER,
  created_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS question_options (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  question_event_id INTEGER NOT NULL REFERENCES question_events (id) ON DELETE CASCADE,
  option_id TEXT NOT NULL,
  label TEXT NOT NULL,
  prior_probability REAL,
  posterior_probability REAL,
  is_other INTEGER NOT NULL DEFAULT 0,
  UNIQUE (question_event_id, option_id)
);
CREATE TABLE IF NOT EXISTS question_option_outcomes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  question_event_id INTEGER NOT NULL REFERENCES question_events (id) ON DELETE CASCADE,
  option_id TEXT NOT NULL,
  selected INTEGER NOT NULL DEFAULT 0,
  diagnostic_weight REAL,
  information_contribution_bits REAL,
  created_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS question_stop_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  question_session_id INTEGER NOT NULL REFERENCES question_sessions (id) ON DELETE CASCADE,
  stop_reason TEXT NOT NULL,
  confidence_at_stop REAL,
  marginal_gain_bits REAL,
  expected_user_cost REAL,
  turn_index INTEGER,
  created_at_ms INTEGER NOT NULL
);
`
