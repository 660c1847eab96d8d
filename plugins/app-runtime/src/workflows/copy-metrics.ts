import type { DatabaseStore } from '@svc/contracts'
import { copiedMark, METRIC_OF_ENTRY } from './sql-workflow-store.ts'

/** Journal entries that one transaction copies. */
const MAX_AT_ONCE = 1_000

/**
 * Copies the new journal entries of a program to research_metrics. In bulk, because an insert for each entry costs more
 * than the run. Returns the number of entries.
 */
export async function copyMetrics(store: DatabaseStore, program: string, session: string): Promise<number> {
  const has = await store.query("SELECT 1 FROM sqlite_master WHERE name = 'research_metrics'")
  if (has.rows.length === 0) return 0
  for (let copied = 0; ; ) {
    const parameters = { program, session, mark: copiedMark(program) }
    const next = await store.query(NEW_ENTRIES, { program, mark: copiedMark(program) })
    if (next.rows.length === 0) return copied
    const [inserted] = await store.batch([
      { sql: COPY, parameters },
      { sql: MARK, parameters: { program, mark: copiedMark(program) } }
    ])
    copied += inserted?.changes ?? 0
  }
}

/**
 * New entries in their order. The subquery decides by the index on ids where to begin. CROSS JOIN keeps the order of the
 * tables: otherwise all runs of the program would be read first.
 */
const NEW = `SELECT j.id AS id, j.run_id AS run, r.workflow_name AS workflow, j.entry_json AS entry
  FROM workflow_journal j CROSS JOIN workflow_run_state s ON s.run_id = j.run_id
    CROSS JOIN workflow_run_log r ON r.run_id = j.run_id
  WHERE j.id > coalesce((SELECT CAST(value AS INTEGER) FROM coord_meta WHERE name = :mark), 0) AND s.program = :program
  ORDER BY j.id LIMIT ${MAX_AT_ONCE}`
const NEW_ENTRIES = `SELECT 1 FROM (${NEW}) LIMIT 1`
const COPY = `INSERT INTO research_metrics (session_id, metric_type, metadata_json)
  SELECT :session, 'workflow_journal_entry', ${METRIC_OF_ENTRY} FROM (${NEW})`
const MARK = `INSERT INTO coord_meta (name, value) SELECT :mark, CAST(max(id) AS TEXT) FROM (${NEW}) WHERE true
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`
