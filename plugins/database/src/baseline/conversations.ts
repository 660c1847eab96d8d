/** Conversations with their messages, topics and versions, and older transcripts. */
export const conversationTables = `
CREATE TABLE IF NOT EXISTS users (
  id TEXT PRIMARY KEY,
  display_name TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS user_preferences (
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT,
  PRIMARY KEY (user_id, key)
);
CREATE TABLE IF NOT EXISTS conversations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT REFERENCES users (id) ON DELETE SET NULL,
  title TEXT NOT NULL DEFAULT '',
  code_version TEXT,
  repository_id TEXT,
  external_session_id TEXT,
  thread_id TEXT,
  origin_surface TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS conversations_session ON conversations (repository_id, external_session_id)
  WHERE repository_id IS NOT NULL AND external_session_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS conversation_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  content_text TEXT NOT NULL DEFAULT '',
  payload_json TEXT,
  external_turn_id TEXT,
  model_used TEXT,
  token_count INTEGER,
  context_files_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS conversation_messages_order ON conversation_messages (conversation_id, id);
CREATE TABLE IF NOT EXISTS conversation_tool_calls (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_message_id INTEGER NOT NULL REFERENCES conversation_messages (id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  tool_name TEXT NOT NULL,
  arguments_json TEXT NOT NULL DEFAULT '{}',
  result_json TEXT,
  status TEXT NOT NULL DEFAULT 'pending',
  error_text TEXT,
  started_at_ms INTEGER,
  finished_at_ms INTEGER
);
CREATE INDEX IF NOT EXISTS conversation_tool_calls_message ON conversation_tool_calls (conversation_message_id, ordinal);
CREATE TABLE IF NOT EXISTS topics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  slug TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS conversation_topics (
  conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  topic_id INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  weight REAL NOT NULL DEFAULT 1.0,
  PRIMARY KEY (conversation_id, topic_id)
);
CREATE TABLE IF NOT EXISTS conversation_message_topics (
  conversation_message_id INTEGER NOT NULL REFERENCES conversation_messages (id) ON DELETE CASCADE,
  topic_id INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  weight REAL NOT NULL DEFAULT 1.0,
  PRIMARY KEY (conversation_message_id, topic_id)
);
CREATE TABLE IF NOT EXISTS conversation_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  version_index INTEGER NOT NULL,
  label TEXT,
  snapshot_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE (conversation_id, version_index)
);
CREATE TABLE IF NOT EXISTS conversation_edges (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  from_conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  to_conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  edge_kind TEXT NOT NULL DEFAULT 'related',
  weight REAL NOT NULL DEFAULT 1.0,
  metadata_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS topic_evolution_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic_id INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  event_kind TEXT NOT NULL,
  prior_label TEXT,
  new_label TEXT,
  detail_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS chat_transcripts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  model_used TEXT,
  tokens INTEGER,
  context_files TEXT,
  repository_id TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX IF NOT EXISTS chat_transcripts_session ON chat_transcripts (session_id, id);
CREATE TABLE IF NOT EXISTS routing_decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  journey_id TEXT,
  repository_id TEXT,
  session_id TEXT,
  surface TEXT NOT NULL DEFAULT '',
  model_id TEXT,
  reason_json TEXT
);
CREATE INDEX IF NOT EXISTS routing_decisions_time ON routing_decisions (created_at);
CREATE INDEX IF NOT EXISTS routing_decisions_journey ON routing_decisions (journey_id);
`
