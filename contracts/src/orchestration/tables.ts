/**
 * Tables of the baseline schema for orchestrator state, by name. A database with an older schema gets them when an
 * orchestrator attaches to it.
 *
 * Each process of a repository has a seat and writes only the records under that seat. So processes only coordinate the
 * seats and the ranges of ids.
 */
export const ORCHESTRATOR_TABLES = {
  /** One row for each task, agent, lock and so on, as JSON; without row ids, since every access uses the whole key. */
  orchestrator_records: `CREATE TABLE IF NOT EXISTS orchestrator_records (
  repository_id TEXT NOT NULL,
  seat INTEGER NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (repository_id, seat, kind, key)
) WITHOUT ROWID`,
  /**
   * `owner` is null for a released seat. `fence` grows with each new owner, and `committed` with each of the owner's
   * transactions: a transaction that expects other values is stale. `ids` are the id ranges that the seat may assign.
   */
  orchestrator_seats: `CREATE TABLE IF NOT EXISTS orchestrator_seats (
  repository_id TEXT NOT NULL,
  seat INTEGER NOT NULL,
  owner TEXT,
  host TEXT,
  pid INTEGER,
  process_start TEXT,
  lease_until_ms INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 1,
  committed INTEGER NOT NULL DEFAULT 0,
  ids TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (repository_id, seat)
) WITHOUT ROWID`,
  /** The next unassigned id of each kind. */
  orchestrator_counters: `CREATE TABLE IF NOT EXISTS orchestrator_counters (
  repository_id TEXT NOT NULL,
  name TEXT NOT NULL,
  next INTEGER NOT NULL,
  PRIMARY KEY (repository_id, name)
) WITHOUT ROWID`
} as const
