import type { HirPredicate, SqlParameter } from '@svc/contracts'
import { isList, NONE, Tagged, type Value } from '../interpreter/value.ts'
import { printJson } from '../wire/json-text.ts'
import { inPart, mismatch } from '../wire/mismatch.ts'
import { wrong } from '../wire/plain-codecs.ts'
import type { TableColumn, TableShape } from './table-shape.ts'

/** Computes a SQL parameter from the values of the operation. Throws a `Mismatch`. */
export type Binder = (values: readonly Value[]) => SqlParameter

/** A condition as SQL, with the binders of its parameters in order. */
export interface Condition {
  readonly sql: string
  readonly binders: readonly Binder[]
}

/**
 * Returns other SQL for a comparison, such as a full-text search; null keeps the default. `index` is the index of the
 * compared value.
 */
export type Replace = (kind: 'Eq' | 'Contains', column: TableColumn, index: number) => Condition | null

type Compared = 'Eq' | 'Neq' | 'Lt' | 'Lte' | 'Gt' | 'Gte'

const OPERATORS: Readonly<Record<Compared, string>> = { Eq: '=', Neq: '<>', Lt: '<', Lte: '<=', Gt: '>', Gte: '>=' }

/** Translates a predicate to SQL. Column names come from the declaration, and every value is a parameter. */
export function conditionOf(predicate: HirPredicate, shape: TableShape, replace: Replace = () => null): Condition {
  const binders: Binder[] = []
  let next = 0

  // The compiler rejects unknown column names.
  const column = (name: string): TableColumn => shape.column(name) ?? mismatch(`a column of ${shape.name}`, name)
  const bind = (target: TableColumn, index: number, encode: Encode = encoded): void => {
    binders.push(values => named(target, () => encode(target, values[index] as Value)))
  }

  const compared = (kind: Compared, target: TableColumn): string => {
    const index = next++
    const replaced = kind === 'Eq' ? replace('Eq', target, index) : null
    if (replaced !== null) return withBinders(replaced)
    const operator = OPERATORS[kind]
    if (target.kind === 'dec') {
      const isOrder = kind !== 'Eq' && kind !== 'Neq'
      bind(target, index, isOrder ? encoded : canonicalDecimal)
      if (isOrder) return `${decimalOrder(target.quoted)} ${operator} ${decimalOrder('?')}`
      if (kind === 'Eq') return `${canonicalDecimalSql(target.quoted)} ${target.nullable ? 'IS' : '='} ?`
      if (target.nullable) bind(target, index, canonicalDecimal)
      return orPresent(target, `${canonicalDecimalSql(target.quoted)} <> ?`)
    }
    bind(target, index)
    if (kind === 'Eq') return `${target.quoted} ${target.nullable ? 'IS' : '='} ?`
    if (kind === 'Neq' && target.nullable) bind(target, index)
    return kind === 'Neq' ? orPresent(target, `${target.quoted} <> ?`) : `${target.quoted} ${operator} ?`
  }

  const contains = (target: TableColumn): string => {
    const index = next++
    const replaced = replace('Contains', target, index)
    if (replaced !== null) return withBinders(replaced)
    bind(target, index, likePart)
    return `${target.quoted} LIKE '%' || ? || '%' ESCAPE '\\'`
  }

  const membership = (target: TableColumn, arity: number | null): string => {
    const encode = target.kind === 'dec' ? canonicalDecimal : encoded
    const left = target.kind === 'dec' ? canonicalDecimalSql(target.quoted) : target.quoted
    if (arity === null) {
      bind(target, next++, (each, value) => listText(each, value, encode))
      return `${left} IN (SELECT value FROM json_each(?))`
    }
    for (let count = 0; count < arity; count++) bind(target, next++, encode)
    return `${left} IN (${Array.from({ length: arity }, () => '?').join(', ')})`
  }

  const withBinders = ({ sql, binders: own }: Condition): string => {
    binders.push(...own)
    return sql
  }

  const sqlOf = (each: HirPredicate): string => {
    if ('And' in each) return each.And.length === 0 ? '1' : `(${each.And.map(sqlOf).join(' AND ')})`
    if ('Or' in each) return each.Or.length === 0 ? '0' : `(${each.Or.map(sqlOf).join(' OR ')})`
    if ('Not' in each) return `NOT (${sqlOf(each.Not)})`
    if ('IsNull' in each) return `${column(each.IsNull.field).quoted} IS NULL`
    if ('Contains' in each) return contains(column(each.Contains.field))
    if ('In' in each) return membership(column(each.In.field), each.In.arity)
    const [kind, { field }] = Object.entries(each)[0] as [Compared, { readonly field: string }]
    return compared(kind, column(field))
  }

  return { sql: sqlOf(predicate), binders }
}

type Encode = (column: TableColumn, value: Value) => SqlParameter

const encoded: Encode = ({ codec }, value) => codec.encode(value)

/** Makes `isnt` match NULL as well, for an optional column. The value is bound twice. */
function orPresent({ nullable, quoted }: TableColumn, differs: string): string {
  return nullable ? `(${differs} OR (? IS NULL AND ${quoted} IS NOT NULL))` : differs
}

function named<A>({ name }: TableColumn, run: () => A): A {
  try {
    return run()
  } catch (thrown) {
    throw inPart(thrown, name)
  }
}

/** Returns SQL that removes trailing zeros: decimals are stored as text, and `1.50` equals `1.5`. */
export function canonicalDecimalSql(column: string): string {
  return `CASE instr(${column}, '.') WHEN 0 THEN ${column} ELSE rtrim(rtrim(${column}, '0'), '.') END`
}

/** Returns SQL that orders decimals numerically, exact for 15 digits. */
export function decimalOrder(sql: string): string {
  return `CAST(${sql} AS NUMERIC)`
}

const canonicalDecimal: Encode = ({ codec }, value) => {
  const text = codec.encode(value)
  if (typeof text !== 'string' || !text.includes('.')) return text
  return text.replace(/\.?0+$/, '')
}

/** Escapes the wildcards of LIKE. */
const likePart: Encode = (_, value) => {
  const text = value instanceof Tagged && value.tag === 'Some' ? value.fields[0] : value
  if (text === NONE || text === null) return null
  return typeof text === 'string' ? text.replace(/[\\%_]/g, '\\$&') : wrong('str', text as Value)
}

function listText(column: TableColumn, value: Value, encode: Encode): string {
  if (!isList(value)) return wrong('a List', value)
  return printJson(
    value.map((item, index) => {
      try {
        const each = encode(column, item)
        return each instanceof Uint8Array ? mismatch('values that are not vectors', 'vectors') : each
      } catch (thrown) {
        throw inPart(thrown, index)
      }
    })
  )
}
