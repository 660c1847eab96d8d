import type { DesiredObject } from '../../schema/desired-schema.ts'
import { quoted, textLiteral } from '../../schema/names.ts'

export const SESSIONS_TABLE = 'program_sessions'
export const IDENTITIES_TABLE = 'program_identities'

/**
 * Sessions by the SHA-256 of their token, and the proofs with which users sign in. `realm` is the table of users; empty
 * for the sessions of a program without one. Ids of users are never used again.
 */
export const userTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${SESSIONS_TABLE} (
  hash TEXT PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE,
  realm TEXT NOT NULL,
  subject TEXT NOT NULL,
  provider TEXT NOT NULL,
  claims_json TEXT NOT NULL,
  agent TEXT,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
)`,
  `CREATE INDEX IF NOT EXISTS ${SESSIONS_TABLE}_subject ON ${SESSIONS_TABLE} (realm, subject, created_at_ms)`,
  `CREATE INDEX IF NOT EXISTS ${SESSIONS_TABLE}_end ON ${SESSIONS_TABLE} (expires_at_ms)`,
  `CREATE TABLE IF NOT EXISTS ${IDENTITIES_TABLE} (
  realm TEXT NOT NULL,
  provider TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id INTEGER NOT NULL,
  secret TEXT,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (realm, provider, subject)
)`,
  `CREATE INDEX IF NOT EXISTS ${IDENTITIES_TABLE}_user ON ${IDENTITIES_TABLE} (realm, user_id)`
]

/** Returns the trigger that ends the sessions of a deleted user, in the transaction of the deletion. */
export function userTriggers(table: string): DesiredObject[] {
  const name = `${table}_users_delete`
  const realm = textLiteral(table)
  const sql = `CREATE TRIGGER ${quoted(name)} AFTER DELETE ON ${quoted(table)} BEGIN
  DELETE FROM ${SESSIONS_TABLE} WHERE realm = ${realm} AND subject = CAST(OLD."_id" AS TEXT);
  DELETE FROM ${IDENTITIES_TABLE} WHERE realm = ${realm} AND user_id = OLD."_id";
END`
  return [{ type: 'trigger', name, sql }]
}
