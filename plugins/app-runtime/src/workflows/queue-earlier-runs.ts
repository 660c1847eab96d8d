import { coordinationSql as crd, type DatabaseStore } from '@svc/contracts'
import { runQueue } from './run-queue.ts'

/** Runs that one transaction adds. */
const MAX_AT_ONCE = 500

/** Name under which the database remembers that the runs of a program have items. */
const markOf = (program: string): string => `workflow items of ${program}`

/**
 * Adds items for the unfinished runs of a program that were stored before runs were items of a queue. Each becomes ready
 * at its time, or at once: a run that waits for a signal looks for it, and waits again.
 */
export async function queueEarlierRuns(store: DatabaseStore, program: string): Promise<void> {
  const mark = await store.query('SELECT 1 FROM coord_meta WHERE name = ?', [markOf(program)])
  if (mark.rows.length > 0) return
  await store.transaction(async tx => {
    const now = Date.now()
    const queue = runQueue(program)
    const { rows } = await tx.query(UNFINISHED, [program])
    for (let from = 0; from < rows.length; from += MAX_AT_ONCE) {
      const items = rows.slice(from, from + MAX_AT_ONCE).map(([run, wakeAt]) => ({
        queue,
        key: String(run),
        body: String(run),
        delayMs: typeof wakeAt === 'number' ? Math.max(0, wakeAt - now) : 0
      }))
      for (const { sql, parameters } of crd.putItems(items).statements) await tx.execute(sql, parameters)
    }
    await tx.execute("INSERT OR IGNORE INTO coord_meta (name, value) VALUES (?, 'yes')", [markOf(program)])
  })
}

const UNFINISHED = `SELECT r.run_id, s.wake_at_ms
  FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.program = ? AND s.parent_run_id IS NULL AND r.status IN ('pending', 'running', 'waiting')
  ORDER BY r.started_at_ms, r.run_id`
