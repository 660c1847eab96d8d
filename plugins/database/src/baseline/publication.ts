/** Publications, their approvals, and the jobs that submit them to external venues. */
export const publicationTables = `
CREATE TABLE IF NOT EXISTS publication_manifests (
  publication_id TEXT PRIMARY KEY,
  content_type TEXT NOT NULL,
  source_ref TEXT,
  title TEXT NOT NULL DEFAULT '',
  author TEXT NOT NULL DEFAULT '',
  abstract_text TEXT,
  body_markdown TEXT NOT NULL DEFAULT '',
  citations_json TEXT,
  metadata_json TEXT,
  revision_history_json TEXT,
  content_sha3_256 TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  state TEXT NOT NULL DEFAULT 'draft',
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS publication_approvals (
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  approver TEXT NOT NULL,
  approver_role TEXT NOT NULL DEFAULT 'human',
  approved_at_ms INTEGER NOT NULL,
  PRIMARY KEY (publication_id, content_sha3_256, approver)
);
CREATE TABLE IF NOT EXISTS publication_attempts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  channel TEXT NOT NULL,
  outcome_json TEXT,
  attempted_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS publication_attempts_publication ON publication_attempts (publication_id, channel);
CREATE TABLE IF NOT EXISTS publication_status_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  publication_id TEXT NOT NULL,
  status TEXT NOT NULL,
  detail_json TEXT,
  created_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS external_submission_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  adapter TEXT NOT NULL,
  operation TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  lock_owner TEXT,
  lock_expires_at_ms INTEGER,
  next_retry_at_ms INTEGER,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  last_error_class TEXT,
  last_error_message TEXT,
  metadata_json TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS external_submission_jobs_due ON external_submission_jobs (status, next_retry_at_ms);
CREATE TABLE IF NOT EXISTS external_submission_attempts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id INTEGER NOT NULL REFERENCES external_submission_jobs (id) ON DELETE CASCADE,
  attempted_at_ms INTEGER NOT NULL,
  http_status INTEGER,
  error_class TEXT,
  retryable INTEGER,
  request_fingerprint TEXT,
  response_fingerprint TEXT,
  detail_json TEXT
);
`
