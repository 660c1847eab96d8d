/**
 * Tables of the baseline schema in which the state of orchestrators stands, by their names. A database whose schema was made
 * before they were part of it is given them when an orchestrator is attached to it.
 *
 * Each process of a repository has a seat, and the records of its state under that seat: a process writes no record of another,
 * so that two of them need agree on nothing but who has which seat, and who which ids.
 */
export const ORCHESTRATOR_TABLES = {
  /** One row for each task, agent, lock and so on, as JSON; without row ids, since every access is by the whole key. */
  orchestrator_records: `CREATE TABLE IF NOT EXISTS orchestrator_records (
  repository_id TEXT NOT NULL,
  seat INTEGER NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (repository_id, seat, kind, key)
) WITHOUT ROWID`,
  /**
   * `owner` is null for a seat that was left in order. `fence` grows with each new owner, and `committed` with each transaction
   * of one: a transaction that names others is too late. `ids` are the ranges that the seat may still give out.
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
  /** The next id that no seat has, by what is numbered. */
  orchestrator_counters: `CREATE TABLE IF NOT EXISTS orchestrator_counters (
  repository_id TEXT NOT NULL,
  name TEXT NOT NULL,
  next INTEGER NOT NULL,
  PRIMARY KEY (repository_id, name)
) WITHOUT ROWID`
} as const
