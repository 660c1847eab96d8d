import type { SqlParameter, SqlResult } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import type { Condition } from './predicate-sql.ts'
import type { ProgramDatabase } from './program-database.ts'
import type { TableShape } from './table-shape.ts'

/** Returns the SQL that adds a rule to a condition; empty without a rule. */
export function andRule(rule: Condition | null): string {
  return rule === null ? '' : ` AND (${rule.sql})`
}

/** Returns the parameters of a rule for the caller. Throws `RUN_FORBIDDEN` if the program declares no rule. */
export function ruleParameters(rule: Condition | null): SqlParameter[] {
  return rule === null ? [] : rule.binders.map(bind => bind([]))
}

/** Fails a change of a row that does not exist for the caller. Does not tell whether it exists for others. */
export function noSuchRow({ name }: TableShape, action: 'update' | 'delete', id: SqlParameter): never {
  return fail('RUN_FORBIDDEN', `${name}: there is no row ${id} that the caller may ${action}`)
}

/**
 * Inserts a row and checks it against the rule, in one transaction: a row that the rule does not allow is not stored.
 * Throws `RUN_FORBIDDEN`.
 */
export function insertChecked(
  database: ProgramDatabase,
  shape: TableShape,
  sql: string,
  parameters: readonly SqlParameter[]
): SqlResult['lastInsertId'] {
  const rule = shape.rules?.of('insert') ?? null
  // Bound first: without a rule, nothing is written.
  const caller = ruleParameters(rule)
  return database.transaction('write', () => {
    const { lastInsertId } = database.execute(shape.name, sql, parameters)
    assertAllowed(database, shape, rule, lastInsertId, caller, 'insert')
    return lastInsertId
  })
}

/**
 * Updates a row that the rule allows the caller to update, and checks that it still does. `sql` ends with the condition
 * for the id. Throws `RUN_FORBIDDEN`.
 */
export function updateChecked(
  database: ProgramDatabase,
  shape: TableShape,
  sql: string,
  parameters: readonly SqlParameter[],
  id: SqlParameter
): void {
  const rule = shape.rules?.of('update') ?? null
  const caller = ruleParameters(rule)
  database.transaction('write', () => {
    const { changes } = database.execute(shape.name, `${sql}${andRule(rule)}`, [...parameters, id, ...caller])
    if (changes === 0) noSuchRow(shape, 'update', id)
    assertAllowed(database, shape, rule, id, caller, 'update')
  })
}

/** Checks a change of no column. Throws `RUN_FORBIDDEN` for a row that the caller may not update. */
export function assertUpdatable(database: ProgramDatabase, shape: TableShape, id: SqlParameter): void {
  const rule = shape.rules?.of('update') ?? null
  if (!isAllowed(database, shape, rule, id, ruleParameters(rule))) noSuchRow(shape, 'update', id)
}

function assertAllowed(
  database: ProgramDatabase,
  shape: TableShape,
  rule: Condition | null,
  id: SqlParameter,
  caller: readonly SqlParameter[],
  action: 'insert' | 'update'
): void {
  if (isAllowed(database, shape, rule, id, caller)) return
  fail('RUN_FORBIDDEN', `${shape.name}: the caller may not ${action} such a row`)
}

function isAllowed(
  database: ProgramDatabase,
  { name, sql: table, id: idColumn }: TableShape,
  rule: Condition | null,
  id: SqlParameter,
  caller: readonly SqlParameter[]
): boolean {
  const sql = `SELECT 1 FROM ${table} WHERE ${idColumn.quoted} = ?${andRule(rule)}`
  return database.row(name, sql, [id, ...caller]) !== null
}
