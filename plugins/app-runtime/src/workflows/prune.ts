import type { DatabaseStore, DatabaseTransaction, SqlValue } from '@svc/contracts'
import { ENDED } from './workflow-store.ts'

/** Retention of finished runs: the newest `runs` that ended in the last `days` are kept. */
export interface Retention {
  readonly runs: number
  readonly days: number
}

/** Maximum runs deleted in one transaction, so that other writers can proceed. */
const MAX_AT_ONCE = 500

const DAY_MS = 24 * 60 * 60 * 1000

/** The tables with rows of runs. */
const TABLES = [
  'workflow_journal',
  'workflow_activity_log',
  'workflow_activity_attempt_log',
  'workflow_signal_log',
  'workflow_run_state',
  'workflow_run_log'
] as const

/**
 * SQL of the runs to delete. Parameters: `program` (null for all), `runs`, `before` and `now`. Child runs are deleted
 * with their parents.
 */
const EXPENDABLE = `WITH RECURSIVE
  family (root, run_id) AS (
    SELECT run_id, run_id FROM workflow_run_state WHERE parent_run_id IS NULL
    UNION ALL
    SELECT f.root, s.run_id FROM family f JOIN workflow_run_state s ON s.parent_run_id = f.run_id),
  busy AS (
    SELECT f.root FROM family f JOIN workflow_run_log r ON r.run_id = f.run_id
      WHERE r.status = 'running' AND r.lease_until_ms > :now),
  ended AS (
    SELECT r.run_id, coalesce(r.completed_at_ms, r.updated_at_ms) AS at,
        row_number() OVER (PARTITION BY s.program ORDER BY coalesce(r.completed_at_ms, r.updated_at_ms) DESC, r.run_id) AS place
      FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id
      WHERE s.parent_run_id IS NULL AND r.status IN (${ENDED.map(each => `'${each}'`).join(', ')})
        AND (:program IS NULL OR s.program = :program))
  SELECT run_id FROM ended WHERE (place > :runs OR at < :before) AND run_id NOT IN (SELECT root FROM busy)`

/** SQL of runs with their child runs. Parameter: the ids as JSON. */
export const FAMILY = `WITH RECURSIVE family (run_id) AS (
    SELECT value FROM json_each(?)
    UNION ALL
    SELECT s.run_id FROM family f JOIN workflow_run_state s ON s.parent_run_id = f.run_id)
  SELECT run_id FROM family`

/**
 * Deletes finished runs beyond the retention, with their journals and child runs. Returns their number. Unfinished and
 * leased runs are kept. `program` is null for all programs.
 */
export async function pruneRuns(
  store: DatabaseStore,
  program: string | null,
  keeping: Retention,
  now = Date.now()
): Promise<number> {
  for (let deleted = 0; ; ) {
    // Counts first, to avoid the write lock if there is nothing to delete.
    if ((await countExpendable(store, program, keeping, now)) === 0) return deleted
    const count = await store.transaction(tx => pruneSome(tx, { program, ...boundsOf(keeping, now) }))
    deleted += count
  }
}

/** Returns the number of runs that {@link pruneRuns} would delete. */
export async function countExpendable(
  store: DatabaseStore,
  program: string | null,
  keeping: Retention,
  now = Date.now()
): Promise<number> {
  const { rows } = await store.query(`SELECT count(*) FROM (${EXPENDABLE})`, { program, ...boundsOf(keeping, now) })
  return Number(rows[0]?.[0])
}

export function boundsOf({ runs, days }: Retention, now: number): { runs: number; before: number; now: number } {
  return { runs, before: now - days * DAY_MS, now }
}

async function pruneSome(tx: DatabaseTransaction, parameters: Readonly<Record<string, SqlValue>>): Promise<number> {
  const roots = await tx.query(`${EXPENDABLE} LIMIT ${MAX_AT_ONCE}`, parameters)
  if (roots.rows.length === 0) return 0
  const family = await tx.query(FAMILY, [listOf(roots.rows)])
  const ids = listOf(family.rows)
  for (const table of TABLES) {
    await tx.execute(`DELETE FROM ${table} WHERE run_id IN (SELECT value FROM json_each(?))`, [ids])
  }
  return roots.rows.length
}

function listOf(rows: readonly (readonly SqlValue[])[]): string {
  return JSON.stringify(rows.map(([id]) => id))
}
