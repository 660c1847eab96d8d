import { databaseErrors, type SqlParameter, type SqlParameters } from '@svc/contracts'
import type { BoundValue } from './engine-values.ts'
import type { ScannedStatement } from './scan.ts'

const MIN_INTEGER = -(2n ** 63n)
const MAX_INTEGER = 2n ** 63n - 1n
/** Characters that need a closer check: U+0000 and surrogates. */
const UNUSUAL = /[\0\uD800-\uDFFF]/

/** Returns the parameter values by position. Throws `DBS_VALUE_INVALID`, which names the parameter. */
export function bindParameters(
  sql: string,
  { positions, names, anonymous }: ScannedStatement,
  parameters: SqlParameters | undefined
): readonly BoundValue[] {
  if (parameters === undefined) {
    if (positions > 0) throw mismatch(sql, `the statement has ${count(positions)}, but got none`)
    return []
  }
  if (isList(parameters)) {
    if (parameters.length !== positions)
      throw mismatch(sql, `the statement has ${count(positions)}, but got ${parameters.length}`)
    // Not map, which skips the holes of an array.
    const values: BoundValue[] = []
    for (let at = 0; at < parameters.length; at += 1) values.push(bindValue(parameters[at], at + 1, sql))
    return values
  }
  if (typeof parameters !== 'object' || parameters === null)
    throw mismatch(sql, `parameters must be an array or an object, found ${kindOf(parameters)}`)
  if (anonymous) throw mismatch(sql, 'the statement has parameters without a name, which need an array')
  const byName = new Map(Object.entries(parameters))
  const values: BoundValue[] = []
  for (const [sign, position] of names) {
    const name = sign.slice(1)
    if (!byName.has(name)) throw mismatch(sql, `the parameter ${sign} has no value`)
    values[position - 1] = bindValue(byName.get(name), name, sql)
  }
  const used = new Set([...names.keys()].map(sign => sign.slice(1)))
  const surplus = [...byName.keys()].find(name => !used.has(name))
  if (surplus !== undefined) throw mismatch(sql, `the statement has no parameter "${surplus}"`)
  return values
}

function isList(parameters: SqlParameters): parameters is readonly SqlParameter[] {
  return Array.isArray(parameters)
}

function bindValue(value: unknown, name: string | number, sql: string): BoundValue {
  if (typeof value === 'string') return UNUSUAL.test(value) ? bindUnusual(value, name, sql) : value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : bindFraction(value, name, sql)
  if (value === null) return null
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'bigint') {
    if (value < MIN_INTEGER || value > MAX_INTEGER) throw unbindable(name, 'an integer of more than 64 bits', sql)
    return value
  }
  // Copied: sending a view to a thread would send its whole buffer, which may be Node's shared pool.
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw unbindable(name, kindOf(value), sql)
}

function bindFraction(value: number, name: string | number, sql: string): number {
  if (!Number.isFinite(value)) throw unbindable(name, String(value), sql)
  return value
}

function bindUnusual(text: string, name: string | number, sql: string): string {
  if (text.includes('\0')) throw unbindable(name, 'text with U+0000', sql)
  if (/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text)) {
    throw unbindable(name, 'text with a lone surrogate', sql)
  }
  return text
}

function unbindable(name: string | number, what: string, sql: string): Error {
  return mismatch(sql, `the parameter ${name} is ${what}, which a column cannot store`)
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object') return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`
  const name = (value as object | null)?.constructor?.name ?? 'object'
  return `a value of the class ${name}`
}

function count(positions: number): string {
  return positions === 1 ? '1 parameter' : `${positions} parameters`
}

function mismatch(sql: string, why: string): Error {
  return databaseErrors.create('DBS_VALUE_INVALID', why, { data: { sql } })
}
