/** Expiring key-value entries that agents, tools and sessions share. */
export const contextTables = `
CREATE TABLE IF NOT EXISTS context_entries (
  repository_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  agent_id INTEGER,
  updated_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  PRIMARY KEY (repository_id, key)
);
CREATE INDEX IF NOT EXISTS context_entries_expiry ON context_entries (repository_id, expires_at_ms)
  WHERE expires_at_ms IS NOT NULL;
`
