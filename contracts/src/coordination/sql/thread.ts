import type { ThreadConnection } from '../../database/thread.ts'
import type { SqlParameters } from '../../database/values.ts'
import { inWriteTransaction } from '../../database/write-transaction.ts'
import type { ItemToken } from '../store.ts'
import type { SqlOperation } from './operation.ts'
import { COORDINATION_TABLES } from './tables.ts'

/** Creates the tables of the coordination store if they are missing. Throws as `ThreadConnection.execute`. */
export function createTablesInThread(connection: ThreadConnection): void {
  runInThread(connection, {
    statements: COORDINATION_TABLES.map(sql => ({ sql, parameters: [] })),
    read: () => undefined
  })
}

/**
 * Runs an operation on a thread's connection: in its open write transaction, or else in a separate transaction that is committed
 * when this returns. Throws as `ThreadConnection.execute`, after a rollback of the separate transaction.
 */
export function runInThread<A>(connection: ThreadConnection, operation: SqlOperation<A>): A {
  const { read, statements } = operation
  return inWriteTransaction(connection, () =>
    read(statements.map(({ sql, parameters }) => connection.execute(sql, parameters as SqlParameters)))
  )
}

/**
 * Returns whether an item is still leased with a token. It guards a write: called first in a write transaction, it holds
 * until the end of the transaction, because that has the database's write lock.
 *
 * ```ts
 * connection.begin('write')
 * if (!holdsItem(connection, token)) { connection.rollback(); throw lost() }
 * connection.execute('insert into results …')
 * runInThread(connection, ackItems([token]))
 * connection.commit()
 * ```
 *
 * A lease whose time has passed counts as held until another claim takes the item: only the fence decides.
 */
export function holdsItem(connection: ThreadConnection, { id, fence }: ItemToken): boolean {
  return connection.row(HOLDS, [id, fence]) !== null
}

const HOLDS = 'select 1 from coord_items where id = ?1 and fence = ?2 and granted = 1'
