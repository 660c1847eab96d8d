import { inWriteTransaction, type ThreadConnection } from '@svc/contracts'
import { DURABLE_TABLES } from './tables.ts'

/** Names of the tables of runs, queues and actors. */
const NAMES = DURABLE_TABLES.flatMap(sql => /^CREATE TABLE IF NOT EXISTS (\w+)/i.exec(sql)?.[1] ?? [])

const COUNT_TABLES = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (${NAMES.map(() => '?').join(', ')})`

const OWN_TABLE = new RegExp(`\\b(?:${NAMES.join('|')})\\b`)

const prepared = new WeakSet<ThreadConnection>()

/** Creates missing tables, once per connection. */
export function prepareTables(connection: ThreadConnection): void {
  if (prepared.has(connection)) return
  const found = connection.row(COUNT_TABLES, NAMES)
  if (Number(found?.[0]) < NAMES.length) {
    inWriteTransaction(connection, () => {
      for (const sql of DURABLE_TABLES) connection.execute(sql)
    })
  }
  // Not remembered inside a transaction, whose rollback would remove the tables again.
  if (!connection.inTransaction) prepared.add(connection)
}

/** True for a statement of the workflow engine: it concerns the tables of runs, queues and actors. */
export function isOfEngine(sql: string): boolean {
  return sql === COUNT_TABLES || OWN_TABLE.test(sql)
}
