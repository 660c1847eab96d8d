const VALUE = `
  ciphertext BLOB NOT NULL,
  nonce BLOB NOT NULL,
  cipher_version INTEGER NOT NULL,
  dek_wrapped BLOB NOT NULL,
  dek_wrap_alg TEXT NOT NULL,
  kek_ref TEXT NOT NULL,
  kek_version INTEGER NOT NULL,
  aad_hash TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  rotation_epoch INTEGER NOT NULL,
  rotated_at_ms INTEGER NOT NULL,
  consistency_origin TEXT NOT NULL,
  consistency_version INTEGER NOT NULL,
  last_synced_at_ms INTEGER NOT NULL,
  checksum_hash TEXT NOT NULL`

/** Statements that create the tables of the vault. */
export const SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS clavis_account_secrets (
  account_id TEXT NOT NULL,
  secret_id TEXT NOT NULL,${VALUE},
  PRIMARY KEY (account_id, secret_id))`,
  `CREATE TABLE IF NOT EXISTS clavis_secret_versions (
  account_id TEXT NOT NULL,
  secret_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('create', 'rotate', 'import', 'rollback', 'rewrap')),
  created_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,${VALUE},
  PRIMARY KEY (account_id, secret_id, version))`,
  `CREATE TABLE IF NOT EXISTS clavis_profile_overrides (
  account_id TEXT NOT NULL,
  secret_id TEXT NOT NULL,
  profile TEXT NOT NULL CHECK (profile IN ('dev', 'ci', 'prod', 'hardcut')),${VALUE},
  PRIMARY KEY (account_id, secret_id, profile))`,
  `CREATE TABLE IF NOT EXISTS clavis_audit_log (
  id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  secret_id TEXT NOT NULL,
  action TEXT NOT NULL,
  actor TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS clavis_agent_delegations (
  delegation_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  secret_id TEXT NOT NULL,
  scope_bits INTEGER NOT NULL,
  parent_context TEXT NOT NULL,
  child_context TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  issued_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER,
  checksum_hash TEXT NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS clavis_audit_log_secret ON clavis_audit_log (account_id, secret_id, id)',
  'CREATE INDEX IF NOT EXISTS clavis_audit_log_account ON clavis_audit_log (account_id, id)'
]
