import type { Hir, SqlParameter } from '@svc/contracts'
import { aggregateOperation } from '../../database/aggregate-operation.ts'
import { isDatabaseFailure } from '../../database/database-failure.ts'
import type { ShapeOf } from '../../database/included-rows.ts'
import type { ProgramDatabase } from '../../database/program-database.ts'
import { NO_BOUNDS, type QueryBounds } from '../../database/query-bounds.ts'
import { rawQuery } from '../../database/raw-sql.ts'
import { assertUpdatable, insertChecked, updateChecked } from '../../database/ruled-rows.ts'
import {
  columnsOf,
  deleteOperation,
  getOperation,
  insertSql,
  rawClauseOperation,
  readOperation,
  type TableOperation,
  updateSql
} from '../../database/table-operations.ts'
import type { TableColumn, TableShape } from '../../database/table-shape.ts'
import { Mismatch } from '../../wire/mismatch.ts'
import { fail } from '../failure.ts'
import { isObject } from '../json.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { error, isList, isRecord, Json, ok, type RecordValue, type Value } from '../value.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'
import { placed } from './calls.ts'
import { outsideOfWorkflows } from './durable.ts'

/** Steps charged per statement; each returned row adds one. */
const STATEMENT_STEPS = 20

export function compileDatabaseOperation(body: BodyCompiler, node: Hir.Db): Eval {
  const { table, plan, start: at, keepsResult } = node
  const shape = body.names.tables.shape(table)
  if (shape === undefined) return unsupported(`${plan.op} on the undeclared table ${table}`, at)
  const run = asResult(keepsResult, withPosition(shape, at, compileForm(body, shape, node)))
  return outsideOfWorkflows(body, `db.${table}`, at, run)
}

/** Wraps the outcome in Ok or Error if the program uses it as a Result. */
function asResult(keepsResult: boolean, run: Eval): Eval {
  if (!keepsResult) return run
  return frame => {
    try {
      return ok(run(frame))
    } catch (thrown) {
      if (isDatabaseFailure(thrown)) return error(thrown.message)
      throw thrown
    }
  }
}

function compileForm(body: BodyCompiler, shape: TableShape, node: Hir.Db): Eval {
  switch (node.plan.op) {
    case 'Insert':
      return compileInsert(body, shape, node)
    case 'Update':
      return compileUpdate(body, shape, node)
    case 'Get':
      return compilePlain(
        body,
        node,
        forCaller(body, shape, (of, shapeOf) => getOperation(of, node, shapeOf))
      )
    case 'Delete':
      return compilePlain(body, node, forCaller(body, shape, deleteOperation))
    case 'UnsafeQueryRawClause':
      return compilePlain(body, node, rawClauseOperation(shape))
    case 'Aggregate':
      return compilePlain(
        body,
        node,
        forCaller(body, shape, of => aggregateOperation(of, node))
      )
    case 'All':
    case 'FilterRecord':
    case 'Count':
      return compilePlain(
        body,
        node,
        forCaller(body, shape, (of, shapeOf) => readOperation(of, node, shapeOf))
      )
  }
}

/**
 * Compiles an operation twice, without and with the row rules of its tables, and runs the one that the caller of the
 * running call requires.
 */
function forCaller(
  { names: { tables }, machine }: BodyCompiler,
  shape: TableShape,
  make: (shape: TableShape, shapeOf: ShapeOf) => TableOperation
): TableOperation {
  const plain = make(shape, table => tables.shape(table))
  if (!tables.hasRules) return plain
  const ruled = make(tables.forCallers(shape), table => tables.shapeForCallers(table))
  return {
    run: (database, values, bounds) => (machine.request.caller.isSystem ? plain : ruled).run(database, values, bounds)
  }
}

/** Compiles `db.query(sql, parameters)`. */
export function compileRawQuery(body: BodyCompiler, { sql, values, keepsResult, start: at }: Hir.RawSql): Eval {
  const [text, parameters] = [body.value(sql), values === null ? null : body.value(values)]
  const { machine } = body
  const run: Eval = frame => {
    machine.charge(STATEMENT_STEPS)
    const query = text(frame)
    if (!machine.request.caller.isSystem && typeof query === 'string') body.names.tables.assertUnruled(query)
    return rawQuery(databaseOf(machine, at), query, parameters?.(frame) ?? null)
  }
  return outsideOfWorkflows(body, 'db.query', at, asResult(keepsResult, withPosition(null, at, run)))
}

function compilePlain(body: BodyCompiler, { args, limit, offset, page }: Hir.Db, operation: TableOperation): Eval {
  const values = args.map(({ value }) => body.value(value))
  const maybe = (node: Hir.Expr | null | undefined): Eval | null => (node ? body.value(node) : null)
  const [rows, skipped, size, cursor] = [limit, offset, page?.size, page?.cursor].map(maybe)
  const isBounded = [rows, skipped, size].some(each => each !== null)
  const { machine } = body
  const boundsOf = (frame: CallFrame): QueryBounds => ({
    limit: rows?.(frame) ?? null,
    offset: skipped?.(frame) ?? null,
    size: size?.(frame) ?? null,
    cursor: cursor?.(frame) ?? null
  })
  return frame => {
    machine.charge(STATEMENT_STEPS)
    const given = values.map(value => value(frame))
    const result = operation.run(databaseOf(machine), given, isBounded ? boundsOf(frame) : NO_BOUNDS)
    const items = page !== null && isRecord(result) ? (result.get('items') ?? null) : result
    if (isList(items)) {
      machine.charge(items.length)
      const [first] = items
      machine.allocate(64 * items.length * (first !== undefined && isRecord(first) ? first.size : 1))
    }
    return result
  }
}

/** Returns the entries of a row literal: a record, a struct or named arguments. null for other expressions. */
function literalEntries({ name: table }: TableShape, args: readonly Hir.DbArgument[]): readonly Hir.NamedExpr[] | null {
  const named = args.flatMap(({ name, value }): Hir.NamedExpr[] => (name === null ? [] : [[name, value]]))
  if (named.length > 0) return named
  const given = args[0]?.value
  const record = given?.kind === 'Convert' && given.conversion === 'struct' ? given.operand : given
  if (record?.kind === 'Record') return record.fields
  // A struct of another name has its own defaults.
  return record?.kind === 'Struct' && record.name === table ? record.fields : null
}

function compileInsert(body: BodyCompiler, shape: TableShape, { args }: Hir.Db): Eval {
  const entries = literalEntries(shape, args)
  const fallbacks = shape.columns.map(({ fallback }) => (fallback ? body.names.valueOf(fallback) : null))
  if (entries !== null && new Set(entries.map(([name]) => name)).size === entries.length) {
    return compileInsertOf(body, shape, entries, fallbacks)
  }
  const record = body.value((args[0] as Hir.DbArgument).value)
  const { machine } = body
  const [sql, sqlWithId] = [insertSql(shape, false), insertSql(shape, true)]
  return frame => {
    machine.charge(STATEMENT_STEPS)
    const row = recordOf(shape, record(frame))
    columnsOf(shape, row)
    const id = row.get('_id')
    const parameters: SqlParameter[] = id === undefined ? [] : [shape.encode(shape.id, id)]
    for (const [index, column] of shape.columns.entries()) {
      parameters.push(columnValue(shape, column, row.get(column.name) ?? fallbacks[index]?.()))
    }
    return inserted(body, shape, id === undefined ? sql : sqlWithId, parameters)
  }
}

/** Compiles an insert of a row literal without creating a record: the fast path of loops. */
function compileInsertOf(
  body: BodyCompiler,
  shape: TableShape,
  entries: readonly Hir.NamedExpr[],
  fallbacks: readonly ((() => Value) | null)[]
): Eval {
  const withId = entries.some(([name]) => name === '_id')
  const columns = withId ? [shape.id, ...shape.columns] : shape.columns
  const left = withId ? [null, ...fallbacks] : fallbacks
  // Values are evaluated in source order, then stored at the position of their column.
  const values = entries.map(([name, value]) => ({
    place: columns.findIndex(column => column.name === name),
    value: body.value(value)
  }))
  const rest = columns.flatMap((_, place) => (values.some(each => each.place === place) ? [] : [place]))
  const sql = insertSql(shape, withId)
  const { machine } = body
  return frame => {
    machine.charge(STATEMENT_STEPS)
    const parameters: SqlParameter[] = new Array(columns.length)
    for (let index = 0; index < values.length; index++) {
      const { place, value } = values[index] as (typeof values)[number]
      const encoded = value(frame)
      if (place >= 0) parameters[place] = shape.encode(columns[place] as TableColumn, encoded)
    }
    for (const place of rest) parameters[place] = columnValue(shape, columns[place] as TableColumn, left[place]?.())
    return inserted(body, shape, sql, parameters)
  }
}

function inserted(body: BodyCompiler, shape: TableShape, sql: string, parameters: readonly SqlParameter[]): Value {
  const database = databaseOf(body.machine)
  const ruled = ruledShape(body, shape)
  if (ruled !== null) return insertChecked(database, ruled, sql, parameters)
  return database.execute(shape.name, sql, parameters).lastInsertId
}

/** Returns the table with its row rules; null if it has none, or the program itself is the caller. */
function ruledShape({ names: { tables }, machine }: BodyCompiler, shape: TableShape): TableShape | null {
  if (!tables.hasRules || machine.request.caller.isSystem) return null
  const ruled = tables.forCallers(shape)
  return ruled.rules === null ? null : ruled
}

function columnValue(shape: TableShape, column: TableColumn, value: Value | undefined): SqlParameter {
  if (value !== undefined) return shape.encode(column, value)
  return column.nullable ? null : fail('RUN_ARGUMENTS', `${shape.name} needs a value for ${column.name}`)
}

function compileUpdate(body: BodyCompiler, shape: TableShape, { args }: Hir.Db): Eval {
  const [row, record] = args
  if (row === undefined || record === undefined) {
    return () => fail('RUN_ARGUMENTS', 'update needs an id and a record')
  }
  const id = body.value(row.value)
  const change = record.name === null ? changeOf(body, record.value) : compileNamed(body, args.slice(1))
  const { machine } = body
  const texts = new Map<string, string>()
  return frame => {
    machine.charge(STATEMENT_STEPS)
    const key = shape.encode(shape.id, id(frame))
    const values = recordOf(shape, change(frame))
    // A record that was read before contains its id, which is not updated.
    const columns = columnsOf(shape, values).filter(column => column !== shape.id)
    const ruled = ruledShape(body, shape)
    if (columns.length === 0) {
      if (ruled !== null) assertUpdatable(databaseOf(machine), ruled, key)
      return null
    }
    const names = columns.map(({ name }) => name).join()
    const sql = texts.get(names) ?? updateSql(shape, columns)
    texts.set(names, sql)
    const parameters = columns.map(column => shape.encode(column, values.get(column.name) as Value))
    const database = databaseOf(machine)
    if (ruled === null) database.execute(shape.name, sql, [...parameters, key])
    else updateChecked(database, ruled, sql, parameters, key)
    return null
  }
}

/** Compiles the changed columns. A literal changes only the columns that it names. */
function changeOf(body: BodyCompiler, node: Hir.Expr): Eval {
  const record = node.kind === 'Convert' && node.conversion === 'struct' ? node.operand : node
  return record.kind === 'Record'
    ? compileNamed(
        body,
        record.fields.map(([name, value]) => ({ name, value }))
      )
    : body.value(node)
}

function compileNamed(body: BodyCompiler, args: readonly Hir.DbArgument[]): Eval {
  const values = args.map(({ name, value }) => [name ?? '', body.value(value)] as const)
  return (frame: CallFrame) => new Map(values.map(([name, value]) => [name, value(frame)]))
}

function recordOf(shape: TableShape, value: Value): RecordValue {
  if (value instanceof Json && isObject(value.data)) return shape.fromJson(value.data)
  return isRecord(value) ? value : fail('RUN_TYPE', `a row of ${shape.name} must be a record, found ${typeName(value)}`)
}

function databaseOf(machine: Machine, at = -1): ProgramDatabase {
  return machine.host.database ?? fail('RUN_UNSUPPORTED', 'the program has no database here, so db is unavailable', at)
}

/** Adds the position to failures, and the table to type mismatches. */
function withPosition(shape: TableShape | null, at: number, run: Eval): Eval {
  return frame => {
    try {
      return run(frame)
    } catch (thrown) {
      if (thrown instanceof Mismatch) fail('RUN_TYPE', `${shape === null ? '' : `${shape.name}: `}${thrown.reason}`, at)
      throw placed(thrown, at)
    }
  }
}
