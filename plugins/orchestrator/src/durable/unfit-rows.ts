import { randomUUID } from 'node:crypto'
import type { Logger } from '@svc/plugin-sdk'
import type { TableRow } from '../state/changes.ts'
import { REJECTED_ROW, setRecords } from './records.ts'
import { malformed, type RowStatement, rowStatements } from './rows.ts'

/**
 * Inserts rows so that an invalid row does not block the others. After a statement fails, its rows are retried one by
 * one. A row that still fails is stored as a record {@link REJECTED_ROW}.
 */
export class UnfitRows {
  readonly #log: Logger
  /** Rows that are inserted separately. */
  readonly #separate = new WeakSet<TableRow>()
  readonly #rejected = new Map<TableRow, { readonly key: string; readonly reason: string }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the statements that insert `rows`. If some were rejected, the last statement stores them as records. */
  statements(rows: readonly TableRow[], repositoryId: string, seat: number): readonly RowStatement[] {
    const good = this.#rejected.size === 0 ? rows : rows.filter(row => !this.#rejected.has(row))
    const statements = rowStatements(good, row => this.#separate.has(row)).filter(each => {
      const reason = malformed(each)
      if (reason !== null) for (const row of each.rows) this.#reject(row, reason)
      return reason === null
    })
    if (this.#rejected.size === 0) return statements
    const records: string[] = []
    for (const row of rows) {
      const found = this.#rejected.get(row)
      if (found !== undefined) records.push(`"${found.key}":${JSON.stringify({ ...row, reason: found.reason })}`)
    }
    return [...statements, { statement: setRecords(repositoryId, seat, REJECTED_ROW, `{${records}}`), rows: [] }]
  }

  /** Called after the statement with these rows failed. */
  failed(rows: readonly TableRow[], error: unknown): void {
    const [first] = rows
    if (rows.length === 1 && first !== undefined) this.#reject(first, (error as Error).message)
    else for (const row of rows) this.#separate.add(row)
  }

  /** Called once these rows, or their records, are durable. */
  forget(rows: readonly TableRow[]): void {
    if (this.#rejected.size > 0) for (const row of rows) this.#rejected.delete(row)
  }

  #reject(row: TableRow, reason: string): void {
    this.#rejected.set(row, { key: randomUUID(), reason })
    this.#log.error('a row does not fit its table; it is stored as a rejected_row in orchestrator_records', {
      table: row.table,
      reason
    })
  }
}
