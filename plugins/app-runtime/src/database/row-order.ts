import type { HirDbPlan, SqlParameter } from '@svc/contracts'
import { decimalOrder } from './predicate-sql.ts'
import type { RowCursor } from './row-cursor.ts'
import type { TableColumn, TableShape } from './table-shape.ts'

/** Order of the rows of a query. Rows with equal values are ordered by id. */
export class RowOrder {
  /** The ORDER BY terms. */
  readonly sql: string
  /** SQL of the value for a cursor; null if the rows are ordered by id only. */
  readonly value: string | null
  readonly #by: string
  readonly #shape: TableShape
  readonly #operator: '<' | '>'
  readonly #parameter: string
  readonly #isNullable: boolean

  constructor(shape: TableShape, order: HirDbPlan['order_by']) {
    const [name, isAscending] = order ?? ['_id', true]
    const column = shape.column(name) as TableColumn
    const direction = isAscending ? 'ASC' : 'DESC'
    const by = column.kind === 'dec' ? decimalOrder(column.quoted) : column.quoted
    const parts = column === shape.id ? [by] : [by, shape.id.quoted]
    this.sql = parts.map(part => `${part} ${direction}`).join(', ')
    this.value = column === shape.id ? null : column.quoted
    this.#by = by
    this.#shape = shape
    this.#operator = isAscending ? '>' : '<'
    this.#parameter = column.kind === 'dec' ? decimalOrder('?') : '?'
    this.#isNullable = column.nullable
  }

  /** Returns the condition for the rows after a place. In ascending order, rows without a value are first. */
  after({ value, id }: RowCursor): { readonly sql: string; readonly parameters: readonly SqlParameter[] } {
    const operator = this.#operator
    const by = this.#by
    const ids = `${this.#shape.id.quoted} ${operator} ?`
    if (this.value === null) return { sql: ids, parameters: [id] }
    if (value === null) {
      const same = `${by} IS NULL AND ${ids}`
      return { sql: operator === '>' ? `${by} IS NOT NULL OR (${same})` : same, parameters: [id] }
    }
    const row = `(${by}, ${this.#shape.id.quoted}) ${operator} (${this.#parameter}, ?)`
    const hasNullsLast = this.#isNullable && operator === '<'
    return { sql: hasNullsLast ? `${row} OR ${by} IS NULL` : row, parameters: [value, id] }
  }
}
