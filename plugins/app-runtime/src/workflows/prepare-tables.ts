import { inWriteTransaction, type ThreadConnection } from '@svc/contracts'
import { DURABLE_TABLES } from './tables.ts'

const prepared = new WeakSet<ThreadConnection>()

/** Creates missing tables, once per connection. */
export function prepareTables(connection: ThreadConnection): void {
  if (prepared.has(connection)) return
  const names = DURABLE_TABLES.flatMap(sql => /^CREATE TABLE IF NOT EXISTS (\w+)/i.exec(sql)?.[1] ?? [])
  const marks = names.map(() => '?').join(', ')
  const found = connection.row(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (${marks})`, names)
  if (Number(found?.[0]) < names.length) {
    inWriteTransaction(connection, () => {
      for (const sql of DURABLE_TABLES) connection.execute(sql)
    })
  }
  // Not remembered inside a transaction, whose rollback would remove the tables again.
  if (!connection.inTransaction) prepared.add(connection)
}
