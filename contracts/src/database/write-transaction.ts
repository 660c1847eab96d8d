import type { ThreadConnection } from './thread.ts'

/**
 * Runs in the open transaction of a thread's connection, or else in a new write transaction. The new one is committed
 * when `run` returns, and rolled back if it throws. `isDurable`: see `ThreadConnection.begin`; default true.
 */
export function inWriteTransaction<A>(connection: ThreadConnection, run: () => A, isDurable = true): A {
  if (connection.inTransaction) return run()
  connection.begin('write', { isDurable })
  try {
    const result = run()
    connection.commit()
    return result
  } catch (error) {
    connection.rollback()
    throw error
  }
}
