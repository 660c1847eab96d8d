import type { Identity, RuleCondition, RuleOperand, RuleOperator, SqlParameter } from '@svc/contracts'
import { type Binder, type Condition, canonicalDecimalSql, decimalOrder } from '../../database/predicate-sql.ts'
import type { TableColumn } from '../../database/table-shape.ts'
import type { Caller } from '../../interpreter/request.ts'

/** Columns of a table, to translate its rules. */
export interface RuledTable {
  /** The quoted name. */
  readonly sql: string
  column(name: string): TableColumn | undefined
}

/** Returns the caller of the running call; null for the program itself. */
export type CallerOf = () => Caller | null

/**
 * Translates a rule to SQL. Negations are moved to the comparisons, so that what is unknown never holds: neither a
 * comparison with the identity of a caller that has none, nor its negation.
 */
export function ruleSql(rule: RuleCondition, table: RuledTable, callerOf: CallerOf): Condition {
  const binders: Binder[] = []
  const identity = (): Identity | null => callerOf()?.identity ?? null

  const sqlOf = (each: RuleCondition, isNegated: boolean): string => {
    if ('not' in each) return sqlOf(each.not, !isNegated)
    if ('all' in each) return joined(each.all, isNegated ? 'OR' : 'AND', isNegated)
    if ('any' in each) return joined(each.any, isNegated ? 'AND' : 'OR', isNegated)
    if ('holds' in each) {
      if (typeof each.holds === 'boolean') return each.holds === isNegated ? '0' : '1'
      return `${isNegated ? 'NOT ' : ''}${qualified(columnOf(each.holds))}`
    }
    if ('signedIn' in each) {
      binders.push(() => ((identity() !== null) === isNegated ? 0 : 1))
      return '?'
    }
    if ('has' in each) {
      const { has, value } = each
      binders.push(() => {
        const found = identity()
        return found === null ? null : found[has].includes(value) === isNegated ? 0 : 1
      })
      return '?'
    }
    const { left, operator, right } = each
    return comparison(left, isNegated ? NEGATED[operator] : operator, right)
  }

  const joined = (parts: readonly RuleCondition[], word: 'AND' | 'OR', isNegated: boolean): string =>
    `(${parts.map(part => sqlOf(part, isNegated)).join(` ${word} `)})`

  const comparison = (left: RuleOperand, operator: RuleOperator, right: RuleOperand): string => {
    const [a, b] = [kindOf(left), kindOf(right)]
    const isEquality = operator === 'is' || operator === 'isnt'
    if ('user' in left || 'user' in right) return ofUser(left, operator, right)
    const isDecimal = a === 'dec' || b === 'dec'
    const asText = isDecimal && isEquality && a !== 'float' && b !== 'float'
    const wrap = (operand: RuleOperand, kind: string | null): string => {
      const sql = operandSql(operand, null)
      if (kind === null || !isDecimal) return sql
      if (!asText) return decimalOrder(sql)
      if (kind !== 'dec') return `CAST(${sql} AS TEXT)`
      return 'column' in operand ? canonicalDecimalSql(sql) : sql
    }
    const [one, other] = [wrap(left, a), wrap(right, b)]
    return `${one} ${isEquality ? (operator === 'is' ? 'IS' : 'IS NOT') : operator} ${other}`
  }

  /** A comparison with the caller is unknown without an identity, so it uses no `IS`. */
  const ofUser = (left: RuleOperand, operator: RuleOperator, right: RuleOperand): string => {
    const column = 'column' in left ? columnOf(left.column) : 'column' in right ? columnOf(right.column) : null
    if (operator === 'isnt' && column?.nullable === true) {
      const user = 'user' in left ? left : right
      const [first, second] = [operandSql(user, column), operandSql(user, column)]
      const name = qualified(column)
      return `(${name} <> ${first} OR (${name} IS NULL AND ${second} IS NOT NULL))`
    }
    const one = operandSql(left, column)
    return `${one} ${operator === 'is' ? '=' : operator === 'isnt' ? '<>' : operator} ${operandSql(right, column)}`
  }

  /** Returns the SQL of an operand. `column`: the column that the identity is compared with. */
  const operandSql = (operand: RuleOperand, column: TableColumn | null): string => {
    if ('column' in operand) return qualified(columnOf(operand.column))
    if ('literal' in operand) {
      const value = literalValue(operand)
      binders.push(() => value)
      return '?'
    }
    const { user } = operand
    const isNumber = column?.kind === 'int' || column?.kind === 'id'
    binders.push(() => {
      const found = identity()
      if (found === null) return null
      return isNumber ? intOf(found[user]) : found[user]
    })
    return '?'
  }

  const kindOf = (operand: RuleOperand): string | null => {
    if ('column' in operand) return columnOf(operand.column).kind
    return 'literal' in operand && operand.type !== 'none' ? operand.type : null
  }

  const columnOf = (name: string): TableColumn => {
    const column = table.column(name)
    // The compiler rejects unknown columns.
    if (column === undefined) throw new TypeError(`the table ${table.sql} has no column ${name}`)
    return column
  }

  const qualified = (column: TableColumn): string => `${table.sql}.${column.quoted}`

  return { sql: sqlOf(rule, false), binders }
}

const NEGATED: Readonly<Record<RuleOperator, RuleOperator>> = {
  is: 'isnt',
  isnt: 'is',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<'
}

function literalValue({ literal, type }: Extract<RuleOperand, { readonly literal: unknown }>): SqlParameter {
  if (typeof literal === 'boolean') return literal ? 1 : 0
  if (type === 'int') return intOf(String(literal))
  return type === 'dec'
    ? String(literal)
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')
    : literal
}

/** Returns an int of 64 bits as a parameter; null if the text is none. */
function intOf(text: string): number | bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return null
  const value = BigInt(text)
  if (BigInt.asIntN(64, value) !== value) return null
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
