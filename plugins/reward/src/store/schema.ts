/** Tables of this plugin. `gamify_policy_snapshots` and `agent_events` are part of the baseline schema. */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS gamify_config (
  user_id TEXT PRIMARY KEY,
  enabled INTEGER,
  mode TEXT,
  trust_tier TEXT,
  updated_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS gamify_profiles (
  user_id TEXT PRIMARY KEY,
  level INTEGER NOT NULL DEFAULT 1,
  xp INTEGER NOT NULL DEFAULT 0,
  crystals INTEGER NOT NULL DEFAULT 100,
  lumens INTEGER NOT NULL DEFAULT 0,
  energy INTEGER NOT NULL DEFAULT 100,
  max_energy INTEGER NOT NULL DEFAULT 100,
  last_energy_regen INTEGER NOT NULL,
  streak_days INTEGER NOT NULL DEFAULT 0,
  streak_shields INTEGER NOT NULL DEFAULT 0,
  last_active_day TEXT NOT NULL DEFAULT '',
  last_active INTEGER NOT NULL DEFAULT 0,
  prestige INTEGER NOT NULL DEFAULT 0,
  collegium TEXT,
  event_sequence INTEGER NOT NULL DEFAULT 0,
  message_window_start INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS gamify_companions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  code_hash TEXT,
  language TEXT,
  ascii_sprite TEXT NOT NULL DEFAULT '',
  mood TEXT NOT NULL DEFAULT 'neutral',
  health INTEGER NOT NULL DEFAULT 100,
  energy INTEGER NOT NULL DEFAULT 100,
  last_active INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS gamify_quests (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  day TEXT NOT NULL,
  quest_type TEXT NOT NULL,
  modifier TEXT NOT NULL,
  description TEXT NOT NULL,
  target INTEGER NOT NULL DEFAULT 1,
  progress INTEGER NOT NULL DEFAULT 0,
  crystal_reward INTEGER NOT NULL DEFAULT 10,
  xp_reward INTEGER NOT NULL DEFAULT 15,
  completed INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS gamify_quests_user ON gamify_quests (user_id, day);
CREATE TABLE IF NOT EXISTS gamify_battles (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  companion_id TEXT NOT NULL,
  bug_type TEXT NOT NULL,
  bug_description TEXT NOT NULL,
  bug_code TEXT NOT NULL,
  submitted_code TEXT,
  success INTEGER,
  crystals_earned INTEGER NOT NULL DEFAULT 0,
  xp_earned INTEGER NOT NULL DEFAULT 0,
  duration_secs INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS gamify_battles_user ON gamify_battles (user_id, started_at);
CREATE TABLE IF NOT EXISTS gamify_achievements (
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  reached_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, name)
);
CREATE TABLE IF NOT EXISTS gamify_teaching_profiles (
  user_id TEXT NOT NULL,
  mistake_kind TEXT NOT NULL,
  occurrences INTEGER NOT NULL DEFAULT 0,
  hints_shown INTEGER NOT NULL DEFAULT 0,
  last_seen INTEGER NOT NULL,
  last_hint_at INTEGER,
  PRIMARY KEY (user_id, mistake_kind)
);
CREATE TABLE IF NOT EXISTS gamify_hint_telemetry (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  mistake_kind TEXT NOT NULL,
  event_type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  hint TEXT,
  created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS gamify_hint_telemetry_user ON gamify_hint_telemetry (user_id, id);
CREATE TABLE IF NOT EXISTS gamify_ai_feedback (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  feedback TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS gamify_level_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  level INTEGER NOT NULL,
  xp INTEGER NOT NULL,
  prestige INTEGER NOT NULL,
  reached_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS gamify_level_history_user ON gamify_level_history (user_id, reached_at);
CREATE TABLE IF NOT EXISTS gamify_counters (
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (user_id, name)
);
CREATE TABLE IF NOT EXISTS gamify_daily_counters (
  user_id TEXT NOT NULL,
  day TEXT NOT NULL,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (user_id, day, name)
);
CREATE TABLE IF NOT EXISTS gamify_combos (
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  used_until INTEGER NOT NULL,
  PRIMARY KEY (user_id, name)
);
CREATE TABLE IF NOT EXISTS gamify_event_config (
  event_type TEXT PRIMARY KEY,
  xp INTEGER NOT NULL,
  crystals INTEGER NOT NULL,
  lumens INTEGER NOT NULL,
  shield INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS gamify_notifications (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  message TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  acknowledged_at INTEGER
);
CREATE INDEX IF NOT EXISTS gamify_notifications_user ON gamify_notifications (user_id, acknowledged_at, id);
CREATE TABLE IF NOT EXISTS gamify_processed_events (
  user_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  event_type TEXT NOT NULL,
  at INTEGER NOT NULL,
  dedupe_key TEXT,
  PRIMARY KEY (user_id, sequence)
);
CREATE UNIQUE INDEX IF NOT EXISTS gamify_processed_events_key
  ON gamify_processed_events (user_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS gamify_processed_events_recent ON gamify_processed_events (user_id, event_type, at);
CREATE INDEX IF NOT EXISTS gamify_processed_events_at ON gamify_processed_events (at);
`
