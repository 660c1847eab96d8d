import type { Hir, HirAggregate, SqlValue } from '@svc/contracts'
import { Decimal } from '../interpreter/decimal.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import { Float, NONE, some, Tagged, type Value } from '../interpreter/value.ts'
import { canonicalDecimalSql, decimalOrder } from './predicate-sql.ts'
import { type QueryBounds, rangeParameters, rangeSql } from './query-bounds.ts'
import { bound, QueryParts } from './query-parts.ts'
import type { TableOperation } from './table-operations.ts'
import type { TableColumn, TableShape } from './table-shape.ts'

/** One computed value: its SQL and how its result is read. */
interface Computed {
  readonly name: string
  readonly sql: string
  /** SQL that the groups are ordered by; null if only the program can compare the values. */
  readonly order: string | null
  read(stored: SqlValue): Value
}

/** Compiles `sum`, `avg`, `min`, `max`, `aggregate` and all that follows `group_by`. */
export function aggregateOperation(shape: TableShape, operation: Hir.Db): TableOperation {
  const { plan, limit, offset } = operation
  const { order_by: order } = plan
  const { groups, values, isScalar } = plan.aggregation ?? { groups: null, values: [], isScalar: false }
  const parts = new QueryParts(shape, operation)
  const keys = (groups ?? []).map(name => keyOf(shape.column(name) as TableColumn))
  const computed = [...keys, ...values.map(each => computedOf(shape, each, groups !== null))]
  const select = `${parts.head}SELECT ${computed.map(({ sql }) => sql).join(', ')} FROM ${parts.from()}`
  const sorted = order === null ? undefined : computed.find(({ name }) => name === order[0])
  // The database cannot order by exact decimals that the program computes, so neither can it limit the groups.
  const sortsHere = sorted !== undefined && sorted.order === null
  const isAscending = order?.[1] ?? true
  const first = sorted?.order ? [`${sorted.order} ${isAscending ? 'ASC' : 'DESC'}`] : []
  const terms = [...first, ...keys.map(key => key.order as string)]
  const range = sortsHere ? '' : rangeSql(limit !== null, offset !== null)
  const grouped = keys.length === 0 ? '' : ` GROUP BY ${keys.map(({ sql }) => sql).join(', ')}`
  const sql = groups === null ? select : `${select}${grouped} ORDER BY ${terms.join(', ')}${range}`

  const record = (row: readonly SqlValue[]): Map<string, Value> =>
    new Map(computed.map(({ name, read }, index) => [name, read(row[index] ?? null)]))

  return {
    run(database, args, bounds) {
      parts.prepare(database)
      const parameters = bound(parts.binders, args)
      return withOverflow(shape, () => {
        if (groups === null) {
          const result = record(database.row(shape.name, sql, parameters) ?? [])
          return isScalar ? (result.get(values[0]?.name ?? '') ?? null) : result
        }
        if (!sortsHere) parameters.push(...rangeParameters(bounds))
        const records = database.rows(shape.name, sql, parameters).map(record)
        return sortsHere ? ranged(records, order?.[0] as string, isAscending, bounds) : records
      })
    }
  }
}

function keyOf(column: TableColumn): Computed {
  const isDecimal = column.kind === 'dec'
  return {
    name: column.name,
    sql: isDecimal ? canonicalDecimalSql(column.quoted) : column.quoted,
    order: isDecimal ? decimalOrder(column.quoted) : column.quoted,
    read: stored => column.codec.decode(stored)
  }
}

function computedOf(shape: TableShape, { name, function: kind, field }: HirAggregate, isGrouped: boolean): Computed {
  if (kind === 'Count' || field === null) return { name, sql: 'count(*)', order: 'count(*)', read: asInt }
  const column = shape.column(field) as TableColumn
  const isOptional = kind !== 'Sum' && (!isGrouped || column.nullable)
  const wrap = (value: Value | null): Value => (value === null ? NONE : isOptional ? some(value) : value)
  if (column.kind === 'dec') {
    // The texts of the decimals, since the numbers of the database are not exact.
    const sql = `json_group_array(${column.quoted}) FILTER (WHERE ${column.quoted} IS NOT NULL)`
    return { name, sql, order: null, read: stored => wrap(foldDecimals(kind, decimalsIn(stored))) }
  }
  const sql = `${kind.toLowerCase()}(${column.quoted})`
  if (kind === 'Sum') return { name, sql, order: sql, read: column.kind === 'float' ? asFloatSum : asInt }
  if (kind === 'Avg')
    return { name, sql, order: sql, read: stored => wrap(stored === null ? null : asFloatSum(stored)) }
  const read = (stored: SqlValue): Value => {
    if (stored === null) return NONE
    const value = column.codec.decode(stored)
    return isOptional && !column.nullable ? some(value) : value
  }
  return { name, sql, order: sql, read }
}

/** The sum of no rows is 0. */
function asInt(stored: SqlValue): Value {
  return (stored ?? 0) as number | bigint
}

function asFloatSum(stored: SqlValue): Value {
  return new Float(Number(stored ?? 0))
}

function decimalsIn(stored: SqlValue): Decimal[] {
  const texts = typeof stored === 'string' ? (JSON.parse(stored) as string[]) : []
  return texts.map(text => Decimal.parse(text) ?? fail('RUN_TYPE', `the database holds ${text}, which is no decimal`))
}

function foldDecimals(kind: HirAggregate['function'], decimals: readonly Decimal[]): Decimal | null {
  const sum = decimals.reduce((total, each) => total.plus(each), ZERO)
  if (kind === 'Sum') return sum
  const [first] = decimals
  if (first === undefined) return null
  if (kind === 'Avg') return sum.dividedBy(new Decimal(BigInt(decimals.length), 0), -1)
  const sign = kind === 'Min' ? -1 : 1
  return decimals.reduce((best, each) => (sign * each.compare(best) > 0 ? each : best), first)
}

const ZERO = new Decimal(0n, 0)

/** Sorts records by a decimal and returns those in the range. Records without a value are first in ascending order. */
function ranged(
  records: Map<string, Value>[],
  by: string,
  isAscending: boolean,
  bounds: QueryBounds
): Map<string, Value>[] {
  const decimal = (record: Map<string, Value>): Decimal | null => {
    const value = record.get(by)
    const inner = value instanceof Tagged ? value.fields[0] : value
    return inner instanceof Decimal ? inner : null
  }
  const sorted = records
    .map(record => ({ record, value: decimal(record) }))
    .sort((a, b) => {
      const order = a.value === null ? (b.value === null ? 0 : -1) : b.value === null ? 1 : a.value.compare(b.value)
      return isAscending ? order : -order
    })
    .map(({ record }) => record)
  const [limit = sorted.length, offset = 0] = rangeParameters(bounds).map(Number)
  return sorted.slice(offset, limit < 0 ? undefined : offset + limit)
}

/** SQLite fails if the sum of ints has more than 64 bits. */
function withOverflow<A>(shape: TableShape, run: () => A): A {
  try {
    return run()
  } catch (thrown) {
    if (thrown instanceof RunError && /integer overflow/.test(thrown.message)) {
      fail('RUN_OVERFLOW', `${shape.name}: a sum exceeds 64 bits`)
    }
    throw thrown
  }
}
