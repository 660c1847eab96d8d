import type { Hir } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { NONE, type RecordValue, some, type Value } from '../interpreter/value.ts'
import { mismatch } from '../wire/mismatch.ts'
import { includeOf, referenceColumns, type ShapeOf } from './included-rows.ts'
import type { ProgramDatabase } from './program-database.ts'
import { cursorOf, pageSize, type QueryBounds, rangeParameters, rangeSql } from './query-bounds.ts'
import { bound, QueryParts } from './query-parts.ts'
import { rawParameters } from './raw-sql.ts'
import { cursorText, type RowCursor, readCursor } from './row-cursor.ts'
import { RowOrder } from './row-order.ts'
import { andRule, noSuchRow, ruleParameters } from './ruled-rows.ts'
import type { Selection, TableColumn, TableShape } from './table-shape.ts'

/** A compiled table operation. Throws a `Mismatch` or a `RunError`. */
export interface TableOperation {
  run(database: ProgramDatabase, values: readonly Value[], bounds: QueryBounds): Value
}

export function getOperation(shape: TableShape, operation: Hir.Db, shapeOf: ShapeOf): TableOperation {
  const rule = shape.rules?.of('read') ?? null
  const sql = `SELECT ${shape.whole.sql} FROM ${shape.sql} WHERE ${shape.id.quoted} = ?${andRule(rule)}`
  const include = includeOf(operation, shapeOf)
  return {
    run(database, [id = null]) {
      const row = database.row(shape.name, sql, [shape.encode(shape.id, id), ...ruleParameters(rule)])
      if (row === null) return NONE
      const record = shape.whole.read(row)
      return some(include === null ? record : (include(database, [record])[0] ?? record))
    }
  }
}

export function deleteOperation(shape: TableShape): TableOperation {
  const rule = shape.rules?.of('delete') ?? null
  const sql = `DELETE FROM ${shape.sql} WHERE ${shape.id.quoted} = ?${andRule(rule)}`
  return {
    run(database, [id = null]) {
      const row = shape.encode(shape.id, id)
      const { changes } = database.execute(shape.name, sql, [row, ...ruleParameters(rule)])
      if (rule !== null && changes === 0) noSuchRow(shape, 'delete', row)
      return null
    }
  }
}

/** Compiles `all`, `filter`, `where` and `count`, with their modifiers. */
export function readOperation(shape: TableShape, operation: Hir.Db, shapeOf: ShapeOf): TableOperation {
  const { args, limit, offset, page, plan } = operation
  const { op, order_by } = plan
  if (op === 'Count') return countOperation(new QueryParts(shape, operation))
  if (page !== null) return pageOperation(shape, operation, shapeOf)
  const limitIndex = limit === null || order_by !== null ? null : args.length
  const parts = new QueryParts(shape, operation, limitIndex)
  const selection = selectionOf(shape, operation)
  const include = includeOf(operation, shapeOf)
  const order = order_by === null ? parts.searchOrder : { sql: new RowOrder(shape, order_by).sql, binders: [] }
  const isOffset = offset !== null
  // An offset without an order would skip any rows.
  const orderSql = order?.sql ?? (isOffset ? shape.id.quoted : null)
  const tail = `${orderSql === null ? '' : ` ORDER BY ${orderSql}`}${rangeSql(limit !== null, isOffset)}`
  const sql = `${parts.head}SELECT ${selection.sql} FROM ${parts.from()}${tail}`
  const binders = [...parts.binders, ...(order?.binders ?? [])]
  return {
    run(database, values, bounds) {
      parts.prepare(database)
      const range = rangeParameters(bounds)
      const parameters = bound(binders, limitIndex === null ? values : [...values, range[0] as number | bigint])
      const rows = database.rows(shape.name, sql, [...parameters, ...range]).map(selection.read)
      return include === null ? rows : include(database, rows)
    }
  }
}

function countOperation(parts: QueryParts): TableOperation {
  const { shape } = parts
  const sql = `${parts.head}SELECT count(*) FROM ${parts.from()}`
  return {
    run(database, values) {
      parts.prepare(database)
      return (database.row(shape.name, sql, bound(parts.binders, values))?.[0] ?? 0) as number
    }
  }
}

/** Compiles `page(size, cursor)`: rows after the cursor, and the cursor of the next page if there are more. */
function pageOperation(shape: TableShape, operation: Hir.Db, shapeOf: ShapeOf): TableOperation {
  const parts = new QueryParts(shape, operation)
  const selection = selectionOf(shape, operation)
  const include = includeOf(operation, shapeOf)
  const order = new RowOrder(shape, operation.plan.order_by)
  const [column, isAscending] = operation.plan.order_by ?? [shape.id.name, true]
  const of = `${shape.name} ${column} ${isAscending ? 'asc' : 'desc'}`
  const select = `${parts.head}SELECT ${selection.sql}, ${order.value ?? 'NULL'} FROM `
  const tail = ` ORDER BY ${order.sql} LIMIT ?`
  return {
    run(database, values, { size, cursor }) {
      parts.prepare(database)
      const rowsInPage = pageSize(size)
      const text = cursorOf(cursor)
      const after = text === null ? null : order.after(placeOf(of, text))
      const parameters = [...bound(parts.binders, values), ...(after?.parameters ?? [])]
      // One row more shows whether there is another page.
      const last = typeof rowsInPage === 'bigint' ? rowsInPage : rowsInPage + 1
      const found = database.rows(shape.name, `${select}${parts.from(after?.sql)}${tail}`, [...parameters, last])
      const shown = found.length > rowsInPage ? found.slice(0, Number(rowsInPage)) : found
      const end = shown.at(-1)
      const hasMore = found.length > shown.length && end !== undefined
      const next = hasMore ? cursorText(of, { value: end.at(-1) ?? null, id: end[0] as number }) : null
      const rows = shown.map(selection.read)
      return new Map<string, Value>([
        ['items', include === null ? rows : include(database, rows)],
        ['next', next === null ? NONE : some(next)]
      ])
    }
  }
}

function placeOf(of: string, text: string): RowCursor {
  return (
    readCursor(of, text) ??
    fail('RUN_CURSOR', 'the cursor does not belong to this query; pass the cursor of its last page, or none')
  )
}

/** Returns the selected columns, with those that included rows need. */
function selectionOf(shape: TableShape, operation: Hir.Db): Selection {
  const { projection } = operation.plan
  if (projection === null) return shape.whole
  return shape.selection([...projection, ...referenceColumns(operation)])
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
