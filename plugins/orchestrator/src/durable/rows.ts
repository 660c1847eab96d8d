import type { SqlStatement } from '@svc/contracts'
import type { TableRow } from '../state/changes.ts'

const NAME = /^[a-z][a-z0-9_]*$/i

/** A statement, and the rows that it inserts. */
export interface RowStatement {
  readonly statement: SqlStatement
  readonly rows: readonly TableRow[]
}

/**
 * Returns statements that insert rows, in order within each table. Rows with the same columns share one statement; a
 * row for which `alone` returns true gets its own.
 */
export function rowStatements(rows: readonly TableRow[], alone: (row: TableRow) => boolean): RowStatement[] {
  const groups: Group[] = []
  const statements: RowStatement[] = []
  let group: Group | undefined
  for (const row of rows) {
    const columns = Object.keys(row.values)
    const values = JSON.stringify(Object.values(row.values))
    if (alone(row)) {
      statements.push({ statement: insert(row, columns, [values]), rows: [row] })
      continue
    }
    // The group is mostly that of the previous row.
    if (group === undefined || !isOf(group, row, columns)) group = groups.find(each => isOf(each, row, columns))
    if (group === undefined) {
      group = { table: row.table, columns, rows: [], values: [] }
      groups.push(group)
    }
    group.rows.push(row)
    group.values.push(values)
  }
  for (const { columns, rows, values } of groups)
    statements.push({ statement: insert(rows[0] as TableRow, columns, values), rows })
  return statements
}

interface Group {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: TableRow[]
  /** JSON of each row's values. */
  readonly values: string[]
}

function isOf(group: Group, row: TableRow, columns: readonly string[]): boolean {
  if (group.table !== row.table || group.columns.length !== columns.length) return false
  for (let at = 0; at < columns.length; at += 1) if (columns[at] !== group.columns[at]) return false
  return true
}

/** Returns why the rows of a statement cannot be inserted; null if they can. */
export function malformed({ rows }: RowStatement): string | null {
  const [{ table, values }] = rows as readonly [TableRow]
  const columns = Object.keys(values)
  if (columns.length === 0) return 'it has no columns'
  const wrong = [table, ...columns].find(name => !NAME.test(name))
  return wrong === undefined ? null : `${JSON.stringify(wrong)} is not a valid table or column name`
}

function insert({ table, replaces }: TableRow, columns: readonly string[], values: readonly string[]): SqlStatement {
  const parts = columns.map((_, at) => `json_extract(value, '$[${at}]')`)
  return {
    sql: `${replaces === true ? 'REPLACE' : 'INSERT'} INTO ${table} (${columns.join(', ')}) SELECT ${parts.join(', ')} FROM json_each(?)`,
    parameters: [`[${values.join(',')}]`]
  }
}
