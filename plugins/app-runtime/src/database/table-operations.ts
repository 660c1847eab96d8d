import type { HirDbTableOp, SqlParameter } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { NONE, type RecordValue, some, type Value } from '../interpreter/value.ts'
import { mismatch } from '../wire/mismatch.ts'
import { type Binder, conditionOf, decimalOrder } from './predicate-sql.ts'
import type { ProgramDatabase } from './program-database.ts'
import { rawParameters } from './raw-sql.ts'
import { searchPlan } from './search-sql.ts'
import type { TableColumn, TableShape } from './table-shape.ts'

/** A compiled table operation. `limit` is null if there is none. Throws a `Mismatch` or a `RunError`. */
export interface TableOperation {
  run(database: ProgramDatabase, values: readonly Value[], limit: Value | null): Value
}

export function getOperation(shape: TableShape): TableOperation {
  const sql = `SELECT ${shape.whole.sql} FROM ${shape.sql} WHERE ${shape.id.quoted} = ?`
  return {
    run(database, [id = null]) {
      const row = database.row(shape.name, sql, [shape.encode(shape.id, id)])
      return row === null ? NONE : some(shape.whole.read(row))
    }
  }
}

export function deleteOperation(shape: TableShape): TableOperation {
  const sql = `DELETE FROM ${shape.sql} WHERE ${shape.id.quoted} = ?`
  return {
    run(database, [id = null]) {
      database.execute(shape.name, sql, [shape.encode(shape.id, id)])
      return null
    }
  }
}

/** Compiles `all`, `filter`, `where` and `count`, with their modifiers. */
export function readOperation(shape: TableShape, { op, args, plan, order_by, limit }: HirDbTableOp): TableOperation {
  const { predicate, capabilities } = plan
  const { retrieval_mode: mode } = capabilities
  const limitIndex = limit === null || order_by !== null ? null : args.length
  const search = mode === null || predicate === null ? null : searchPlan(shape, predicate, mode, limitIndex)
  const condition = search?.condition ?? (predicate === null ? null : conditionOf(predicate, shape))
  const where = condition === null ? '' : ` WHERE ${condition.sql}`
  const from = `${shape.sql}${search?.join ?? ''}${where}`
  const before = search?.before ?? null
  const head = before === null ? '' : `${before.sql} `
  const binders = [...(before?.binders ?? []), ...(condition?.binders ?? [])]
  const needs = search?.needs ?? null
  if (op === 'Count') {
    const sql = `${head}SELECT count(*) FROM ${from}`
    return {
      run(database, values) {
        if (needs !== null) database.assertCan(needs, shape.name)
        if (capabilities.requires_sync) database.sync()
        return (database.row(shape.name, sql, bound(binders, values))?.[0] ?? 0) as number
      }
    }
  }
  const selection = plan.projection === null ? shape.whole : shape.selection(plan.projection)
  const order = orderOf(shape, order_by) ?? search?.order ?? null
  const tail = `${order === null ? '' : ` ORDER BY ${order.sql}`}${limit === null ? '' : ' LIMIT ?'}`
  const sql = `${head}SELECT ${selection.sql} FROM ${from}${tail}`
  const all = [...binders, ...(order?.binders ?? [])]
  return {
    run(database, values, maxRows) {
      if (needs !== null) database.assertCan(needs, shape.name)
      if (capabilities.requires_sync) database.sync()
      const count = maxRows === null ? null : limitOf(maxRows)
      const parameters = bound(all, count === null ? values : [...values, count])
      if (count !== null) parameters.push(count)
      return database.rows(shape.name, sql, parameters).map(selection.read)
    }
  }
}

/** Returns the ORDER BY clause. Rows with equal values are ordered by id. */
function orderOf(
  shape: TableShape,
  order: HirDbTableOp['order_by']
): { sql: string; binders: readonly Binder[] } | null {
  if (order === null) return null
  const [name, isAscending] = order
  const column = shape.column(name) as TableColumn
  const direction = isAscending ? 'ASC' : 'DESC'
  const by = column.kind === 'dec' ? decimalOrder(column.quoted) : column.quoted
  const parts = column === shape.id ? [by] : [by, shape.id.quoted]
  return { sql: parts.map(part => `${part} ${direction}`).join(', '), binders: [] }
}

function bound(binders: readonly Binder[], values: readonly Value[]): SqlParameter[] {
  const parameters: SqlParameter[] = []
  for (let index = 0; index < binders.length; index++) parameters.push((binders[index] as Binder)(values))
  return parameters
}

function limitOf(value: Value): number | bigint {
  if (typeof value !== 'number' && typeof value !== 'bigint') return mismatch('an int as limit', typeName(value))
  return value < 0 ? fail('RUN_ARGUMENTS', `a limit must be 0 or more, found ${value}`) : value
}

/** Compiles `db.Table.query(clause)`: the clause is SQL after the table name. */
export function rawClauseOperation(shape: TableShape): TableOperation {
  const head = `SELECT ${shape.whole.sql} FROM ${shape.sql} `
  return {
    run(database, [clause = null, parameters = null]) {
      if (typeof clause !== 'string') return mismatch('a str as clause', typeName(clause))
      return database.rawRows(shape.name, head + clause, rawParameters(parameters)).map(shape.whole.read)
    }
  }
}

/** Returns the SQL of an insert, with a parameter for each column. */
export function insertSql(shape: TableShape, withId: boolean): string {
  const columns = withId ? [shape.id, ...shape.columns] : shape.columns
  if (columns.length === 0) return `INSERT INTO ${shape.sql} DEFAULT VALUES`
  const names = columns.map(({ quoted }) => quoted).join(', ')
  return `INSERT INTO ${shape.sql} (${names}) VALUES (${columns.map(() => '?').join(', ')})`
}

/** Returns the SQL that updates some columns of a row. */
export function updateSql(shape: TableShape, columns: readonly TableColumn[]): string {
  const changes = columns.map(({ quoted }) => `${quoted} = ?`).join(', ')
  return `UPDATE ${shape.sql} SET ${changes} WHERE ${shape.id.quoted} = ?`
}

/** Returns the columns that a record names. Throws `RUN_ARGUMENTS` for unknown ones. */
export function columnsOf(shape: TableShape, record: RecordValue): TableColumn[] {
  return Array.from(record.keys(), name => {
    const known = shape.columns.map(column => column.name).join(', ')
    return shape.column(name) ?? fail('RUN_ARGUMENTS', `${shape.name} has no column ${name}; it has ${known}`)
  })
}
