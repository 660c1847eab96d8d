import type { SqlStatement } from '@svc/contracts'
import type { TableRow } from '../state/changes.ts'

const NAME = /^[a-z][a-z0-9_]*$/i

/** A statement, with the rows that it adds. */
export interface RowStatement {
  readonly statement: SqlStatement
  readonly rows: readonly TableRow[]
}

/**
 * Statements that add rows to tables, in their order within each table: one for all with the same columns, save for those that
 * `alone` tells of.
 */
export function rowStatements(rows: readonly TableRow[], alone: (row: TableRow) => boolean): RowStatement[] {
  const groups: { readonly columns: readonly string[]; readonly rows: TableRow[]; readonly values: string[] }[] = []
  const statements: RowStatement[] = []
  for (const row of rows) {
    const columns = Object.keys(row.values)
    const values = JSON.stringify(Object.values(row.values))
    if (alone(row)) {
      statements.push({ statement: insert(row.table, columns, [values]), rows: [row] })
      continue
    }
    const group = groups.find(each => each.rows[0]?.table === row.table && areSame(each.columns, columns))
    if (group === undefined) groups.push({ columns, rows: [row], values: [values] })
    else {
      group.rows.push(row)
      group.values.push(values)
    }
  }
  for (const { columns, rows, values } of groups) {
    const [{ table }] = rows as [TableRow]
    statements.push({ statement: insert(table, columns, values), rows })
  }
  return statements
}

function areSame(columns: readonly string[], others: readonly string[]): boolean {
  return columns.length === others.length && columns.every((name, at) => name === others[at])
}

/** Why a row cannot even be asked for; null where it can. */
export function malformed({ table, values }: TableRow): string | null {
  const columns = Object.keys(values)
  if (columns.length === 0) return 'it has no columns'
  const wrong = [table, ...columns].find(name => !NAME.test(name))
  return wrong === undefined ? null : `${JSON.stringify(wrong)} is no name of a table or column`
}

function insert(table: string, columns: readonly string[], values: readonly string[]): SqlStatement {
  const parts = columns.map((_, at) => `json_extract(value, '$[${at}]')`)
  return {
    sql: `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${parts.join(', ')} FROM json_each(?)`,
    parameters: [`[${values.join(',')}]`]
  }
}
