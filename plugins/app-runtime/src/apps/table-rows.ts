import type { DatabaseStore, HirPredicate, SqlParameter, SqlValue } from '@svc/contracts'
import { conditionOf, decimalOrder } from '../database/predicate-sql.ts'
import { cursorText, type RowCursor } from '../database/row-cursor.ts'
import type { TableColumn, TableShape } from '../database/table-shape.ts'
import { appErrors } from '../errors.ts'
import type { Value } from '../interpreter/value.ts'
import { cellJson, filterValue, MAX_CELL } from './cell.ts'
import type { FILTER_OPS } from './operations.ts'
import { parseCursor } from './row-cursor.ts'
import { columnOf, withTableErrors } from './table-errors.ts'

/** Limit of the number of counted rows. */
const MAX_COUNT = 100_000

/** Size of a page in characters of JSON, after which it ends early. */
const MAX_PAGE = 1_000_000

/** Characters by which texts are sorted. */
const SORTED_CHARACTERS = 256

export interface RowFilter {
  readonly column: string
  readonly op: (typeof FILTER_OPS)[number]
  readonly value?: unknown
}

export interface RowsRequest {
  readonly filter: readonly RowFilter[]
  /** Column; with a leading `-` in descending order. */
  readonly sort?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export type RowJson = Readonly<Record<string, unknown>>

export interface RowsPage {
  readonly rows: readonly RowJson[]
  /** Number of matching rows, at most `MAX_COUNT`; null for a later page. */
  readonly total: number | null
  readonly cursor: string | null
}

/**
 * Reads one page of rows. Names come from the declaration of the table, and every value is a parameter. Throws
 * `APP_COLUMN_UNKNOWN`, `APP_VALUE_INVALID`, `APP_CURSOR_INVALID` and the errors of the database.
 */
export async function readRows(store: DatabaseStore, shape: TableShape, request: RowsRequest): Promise<RowsPage> {
  const where = filterSql(shape, request.filter)
  const order = orderOf(shape, request.sort)
  const of = `${shape.name} ${request.sort ?? ''}`
  const after = request.cursor === undefined ? null : afterSql(order, parseCursor(of, request.cursor), shape)
  const conditions = [where, after].filter(each => each !== null)
  const limit = Math.max(1, request.limit)
  const columns = wholeSql(shape)
  const sql = `SELECT ${columns}, ${order.by ?? 'NULL'} FROM ${shape.sql}${whereOf(conditions)} ORDER BY ${order.sql} LIMIT ?`
  const parameters = [...conditions.flatMap(each => each.parameters), limit + 1]
  return withTableErrors(shape, store, async () => {
    const { rows } = await store.query(sql, parameters)
    const shown: RowJson[] = []
    let size = 0
    for (const row of rows.slice(0, limit)) {
      const json = rowJson(shape, row)
      size += JSON.stringify(json).length
      if (shown.length > 0 && size > MAX_PAGE) break
      shown.push(json)
    }
    const last = rows[shown.length - 1]
    const hasMore = shown.length < rows.length && last !== undefined
    return {
      rows: shown,
      total: request.cursor === undefined ? await countRows(store, shape, where) : null,
      cursor: hasMore ? cursorText(of, { value: last[last.length - 1] ?? null, id: last[0] as number }) : null
    }
  })
}

interface Sql {
  readonly sql: string
  readonly parameters: readonly SqlParameter[]
}

async function countRows(store: DatabaseStore, shape: TableShape, where: Sql | null): Promise<number> {
  const sql = `SELECT count(*) FROM (SELECT 1 FROM ${shape.sql}${whereOf(where === null ? [] : [where])} LIMIT ?)`
  const { rows } = await store.query(sql, [...(where?.parameters ?? []), MAX_COUNT])
  return Number(rows[0]?.[0])
}

function whereOf(conditions: readonly Sql[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ sql }) => `(${sql})`).join(' AND ')}`
}

const PREDICATES = {
  eq: 'Eq',
  neq: 'Neq',
  lt: 'Lt',
  lte: 'Lte',
  gt: 'Gt',
  gte: 'Gte',
  contains: 'Contains'
} as const

function filterSql(shape: TableShape, filters: readonly RowFilter[]): Sql | null {
  if (filters.length === 0) return null
  const values: Value[] = []
  const predicates = filters.map(({ column: name, op, value }): HirPredicate => {
    const column = columnOf(shape, name)
    const field = { field: column.name }
    if (op === 'is_null') return { IsNull: field }
    if (op === 'not_null') return { Not: { IsNull: field } }
    if (value === undefined) {
      throw appErrors.create('APP_VALUE_INVALID', `the filter on ${shape.name}.${column.name} has no value`, {
        hint: 'add value, or use is_null or not_null'
      })
    }
    values.push(
      withTableErrors(shape, null, () => (op === 'contains' ? String(value) : filterValue(column, value)), column)
    )
    return { [PREDICATES[op]]: field } as unknown as HirPredicate
  })
  const { sql, binders } = conditionOf({ And: predicates }, shape)
  return { sql, parameters: withTableErrors(shape, null, () => binders.map(bind => bind(values))) }
}

interface Order {
  /** SQL of the value that the rows are sorted by, before their id; null if it is the id. */
  readonly by: string | null
  readonly isAscending: boolean
  /** The ORDER BY clause. */
  readonly sql: string
  /** SQL of a parameter that is compared with `by`. */
  readonly parameter: string
}

function orderOf(shape: TableShape, sort: string | undefined): Order {
  const isAscending = sort?.startsWith('-') !== true
  const direction = isAscending ? 'ASC' : 'DESC'
  const column = sort === undefined ? shape.id : columnOf(shape, isAscending ? sort : sort.slice(1))
  if (column === shape.id) {
    return { by: null, isAscending, sql: `${shape.id.quoted} ${direction}`, parameter: '?' }
  }
  const by = sortedBy(column)
  const parameter = column.kind === 'dec' ? decimalOrder('?') : '?'
  return { by, isAscending, sql: `${by} ${direction}, ${shape.id.quoted} ${direction}`, parameter }
}

function sortedBy({ kind, quoted }: TableColumn): string {
  if (kind === 'dec') return decimalOrder(quoted)
  const isText = kind === 'str' || kind === 'char' || kind === 'json' || kind === 'vector'
  return isText ? `substr(${quoted}, 1, ${SORTED_CHARACTERS})` : quoted
}

/** Returns the condition for the rows after a cursor. Rows without a value are first in ascending order. */
function afterSql({ by, isAscending, parameter }: Order, { value, id }: RowCursor, shape: TableShape): Sql {
  const ids = `${shape.id.quoted} ${isAscending ? '>' : '<'} ?`
  if (by === null) return { sql: ids, parameters: [id] }
  if (value === null) {
    const same = `${by} IS NULL AND ${ids}`
    return { sql: isAscending ? `${by} IS NOT NULL OR (${same})` : same, parameters: [id] }
  }
  const beyond = `${by} ${isAscending ? '>' : '<'} ${parameter}${isAscending ? '' : ` OR ${by} IS NULL`}`
  return { sql: `${beyond} OR (${by} = ${parameter} AND ${ids})`, parameters: [value, value, id] }
}

/** Returns the columns of a row as SQL: the id, then each value and, if it is too long to be read, its length. */
export function wholeSql({ id, columns }: TableShape): string {
  const parts = columns.flatMap(({ quoted, read }) => {
    const isLong = `length(${quoted}) > ${MAX_CELL}`
    return [`CASE WHEN ${isLong} THEN NULL ELSE ${read} END`, `CASE WHEN ${isLong} THEN length(${quoted}) END`]
  })
  return [id.quoted, ...parts].join(', ')
}

/** Converts a row that was selected by {@link wholeSql}. */
export function rowJson({ id, columns }: TableShape, row: readonly SqlValue[]): RowJson {
  return Object.fromEntries([
    [id.name, cellJson(id, row[0] ?? null)],
    ...columns.map((column, index) => {
      const length = row[2 * index + 2]
      const cell = typeof length === 'number' ? { $omitted: length } : cellJson(column, row[2 * index + 1] ?? null)
      return [column.name, cell] as const
    })
  ])
}
