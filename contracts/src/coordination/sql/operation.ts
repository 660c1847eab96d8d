import type { SqlParameter, SqlResult } from '../../database/values.ts'

/**
 * Statements of one step of a write transaction, and the function that reads their results. The text is the same for
 * `DatabaseStore.batch` and for the connection of a thread.
 */
export interface SqlOperation<A> {
  readonly statements: readonly { readonly sql: string; readonly parameters: readonly SqlParameter[] }[]
  /** Receives one result for each statement, in order. */
  read(results: readonly SqlResult[]): A
}

/** The database's time in Unix milliseconds. Equal everywhere in one statement. A remote database uses its server's. */
export const NOW_MS = "cast(unixepoch('subsec') * 1000 + 0.5 as integer)"

/** Fences, versions and lease counters of an epoch begin here, so that none repeats after `svc db restore`. */
export const EPOCH_BASE = "(coalesce((select value from coord_seq where name = 'epoch'), 0) * 1099511627776)"

/** Returns a result's row as values of a known shape. */
export function rowAt<Row extends readonly unknown[]>(result: SqlResult | undefined, index = 0): Row | undefined {
  return result?.rows[index] as unknown as Row | undefined
}
