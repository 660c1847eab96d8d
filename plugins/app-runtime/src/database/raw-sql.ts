import type { SqlParameter, SqlValue } from '@svc/contracts'
import { Decimal } from '../interpreter/decimal.ts'
import { fail } from '../interpreter/failure.ts'
import { toJson } from '../interpreter/to-json.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isInt, isList, NONE, SqlRow, Tagged, type Value } from '../interpreter/value.ts'
import { printJson } from '../wire/json-text.ts'
import type { ProgramDatabase } from './program-database.ts'

/**
 * Runs `db.query(sql, parameters)` and returns rows as records by column name. Declared types are not applied:
 * values are ints, also for bools, floats with a fraction, strs, None for NULL, and lists of ints for bytes.
 */
export function rawQuery(database: ProgramDatabase, sql: Value, parameters: Value): Value {
  if (typeof sql !== 'string') return fail('RUN_TYPE', `db.query needs SQL as a str, found ${typeName(sql)}`)
  const { columns, rows } = database.raw(sql, rawParameters(parameters))
  return rows.map(row => new SqlRow(columns.map((column, index) => [column, rawValue(row[index] as SqlValue)])))
}

/** Converts positional parameters to SQL values. */
export function rawParameters(parameters: Value): SqlParameter[] {
  if (parameters === null) return []
  if (!isList(parameters)) return fail('RUN_TYPE', `SQL parameters must be a List, found ${typeName(parameters)}`)
  return parameters.map(rawParameter)
}

function rawParameter(value: Value): SqlParameter {
  if (value === null || value === NONE) return null
  if (typeof value === 'boolean' || typeof value === 'string' || isInt(value)) return value
  if (value instanceof Float) return value.value
  if (value instanceof Decimal) return value.toString()
  if (value instanceof Tagged && value.tag === 'Some') return rawParameter(value.fields[0] ?? null)
  return printJson(toJson(value))
}

function rawValue(value: SqlValue): Value {
  if (value === null) return NONE
  if (value instanceof Uint8Array) return Array.from(value)
  return typeof value === 'number' && !Number.isInteger(value) ? new Float(value) : value
}
