import { coordinationSql as crd, type DatabaseStore, type NewItem } from '@svc/contracts'
import { mailboxItem } from '../actors/sql-actor-store.ts'
import { runQueue } from './run-queue.ts'

/** Items that are added at once. */
const MAX_AT_ONCE = 500

/** Name under which the database remembers that the work of a program has items. */
const markOf = (program: string): string => `workflow items of ${program}`

/**
 * Adds items for the unfinished runs and the messages of a program that were stored before they were items of queues.
 * Each becomes ready at its time, or at once: a run that waits for a signal looks for it, and waits again.
 */
export async function queueEarlierWork(store: DatabaseStore, program: string): Promise<void> {
  const mark = await store.query('SELECT 1 FROM coord_meta WHERE name = ?', [markOf(program)])
  if (mark.rows.length > 0) return
  await store.transaction(async tx => {
    const now = Date.now()
    const queue = runQueue(program)
    const runs = (await tx.query(UNFINISHED, [program])).rows.map(([run, wakeAt]): NewItem => {
      const delayMs = typeof wakeAt === 'number' ? Math.max(0, wakeAt - now) : 0
      return { queue, key: String(run), body: String(run), delayMs }
    })
    const mailboxes = (await tx.query(MAILBOXES, [program])).rows.map(([actor, id, args]) =>
      mailboxItem(program, { actor: String(actor), id: String(id), args: String(args) })
    )
    const items = [...runs, ...mailboxes]
    for (let from = 0; from < items.length; from += MAX_AT_ONCE)
      for (const { sql, parameters } of crd.putItems(items.slice(from, from + MAX_AT_ONCE)).statements)
        await tx.execute(sql, parameters)
    await tx.execute("INSERT OR IGNORE INTO coord_meta (name, value) VALUES (?, 'yes')", [markOf(program)])
  })
}

const UNFINISHED = `SELECT r.run_id, s.wake_at_ms
  FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.program = ? AND s.parent_run_id IS NULL AND r.status IN ('pending', 'running', 'waiting')
  ORDER BY r.started_at_ms, r.run_id`

const MAILBOXES = `SELECT actor, instance, min(spawned_json) FROM actor_mailbox
  WHERE program = ? AND given_up_at_ms IS NULL GROUP BY actor, instance`
