import { randomUUID } from 'node:crypto'
import type { Logger } from '@svc/plugin-sdk'
import type { TableRow } from '../state/changes.ts'
import { REJECTED_ROW, setRecords } from './records.ts'
import { malformed, type RowStatement, rowStatements } from './rows.ts'

/**
 * Inserts rows; a row that does not fit does not block the others. Rows of a failed statement are tried one by one, and
 * a row that still fails is kept as a separate record.
 */
export class UnfitRows {
  readonly #log: Logger
  /** Rows that are inserted separately. */
  readonly #alone = new WeakSet<TableRow>()
  readonly #rejected = new Map<TableRow, { readonly key: string; readonly reason: string }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** The last one is for rows that do not fit, and has no rows yet. */
  statements(rows: readonly TableRow[], repositoryId: string, seat: number): readonly RowStatement[] {
    const good = this.#rejected.size === 0 ? rows : rows.filter(row => !this.#rejected.has(row))
    const statements = rowStatements(good, row => this.#alone.has(row)).filter(each => {
      const reason = malformed(each)
      if (reason !== null) for (const row of each.rows) this.#reject(row, reason)
      return reason === null
    })
    if (this.#rejected.size === 0) return statements
    const kept: string[] = []
    for (const row of rows) {
      const found = this.#rejected.get(row)
      if (found !== undefined) kept.push(`"${found.key}":${JSON.stringify({ ...row, reason: found.reason })}`)
    }
    return [...statements, { statement: setRecords(repositoryId, seat, REJECTED_ROW, `{${kept}}`), rows: [] }]
  }

  /** The statement with these rows was refused. */
  refused(rows: readonly TableRow[], error: unknown): void {
    const [first] = rows
    if (rows.length === 1 && first !== undefined) this.#reject(first, (error as Error).message)
    else for (const row of rows) this.#alone.add(row)
  }

  /** They are durable. */
  forget(rows: readonly TableRow[]): void {
    if (this.#rejected.size > 0) for (const row of rows) this.#rejected.delete(row)
  }

  #reject(row: TableRow, reason: string): void {
    this.#rejected.set(row, { key: randomUUID(), reason })
    this.#log.error('a row does not fit its table and is kept among the records of the orchestrator', {
      table: row.table,
      reason
    })
  }
}
