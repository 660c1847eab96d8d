import {
  ROW_ACTIONS,
  type RowAction,
  type RowRules,
  type RuleCondition,
  type RuleOperand,
  type RuleOperator
} from '@svc/contracts'
import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Binary, Call, Expression, Identifier, Member, Module, Table } from '../../syntax/ast.ts'
import { bare } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Span } from '../../syntax/node.ts'
import { type ColumnKind, columnKinds, type ValueKind } from './column-kinds.ts'

export interface ReadRules {
  /** null if the table has no rules, or they have errors. */
  readonly rules: RowRules | null
  readonly problems: readonly Diagnostic[]
}

/** Returns the row rules of a table, from its decorators `@rule`. */
export function readRowRules(table: Table, module: Module): ReadRules {
  const decorators = table.decorators.filter(({ name }) => name.text === 'rule')
  if (decorators.length === 0) return { rules: null, problems: [] }
  const reader = new RuleReader(table, module)
  const found = new Map<RowAction, RuleCondition>()
  for (const { args, ...decorator } of decorators) {
    if (args === null || args.length === 0) {
      reader.report(decorator, '`@rule` names no action', 'write `@rule(read: owner is user.id)`')
      continue
    }
    for (const { name, value, ...at } of args) {
      const action = ROW_ACTIONS.find(each => each === name?.text)
      if (action === undefined) reader.unknownAction(name ?? at, name?.text ?? '')
      else if (found.has(action))
        reader.report(name ?? at, `the rule of \`${action}\` is declared twice`, 'remove one of them')
      else found.set(action, reader.condition(value))
    }
  }
  const ruleOf = (action: RowAction): RuleCondition | null => found.get(action) ?? null
  const rules: RowRules = {
    table: table.name.text,
    read: ruleOf('read'),
    insert: ruleOf('insert'),
    update: ruleOf('update'),
    delete: ruleOf('delete')
  }
  return { rules: reader.problems.length === 0 ? rules : null, problems: reader.problems }
}

const OPERATORS: ReadonlySet<string> = new Set(['is', 'isnt', '<', '<=', '>', '>='])
/** Kinds of values that have an order. */
const ORDERED: ReadonlySet<ValueKind | 'none'> = new Set<ValueKind>(['str', 'int', 'float', 'dec'])
const USER_MEMBERS = ['id', 'provider', 'roles', 'scopes']
const FORMS = 'a rule has columns, `user`, literals, `and`, `or`, `not` and comparisons'

interface Operand {
  readonly operand: RuleOperand
  readonly kind: ValueKind | 'user' | 'none'
  readonly isOptional: boolean
}

class RuleReader {
  readonly problems: Diagnostic[] = []
  readonly #table: string
  readonly #columns: ReadonlyMap<string, ColumnKind>

  constructor(table: Table, module: Module) {
    this.#table = table.name.text
    this.#columns = columnKinds(table, module)
  }

  report(at: Span, message: string, suggestion: string): void {
    this.problems.push(diagnostic('auth.rule', message, at, { suggestions: [suggestion] }))
  }

  unknownAction(at: Span, name: string): void {
    const near = nearName(name, ROW_ACTIONS)
    this.problems.push(
      diagnostic('auth.rule', `\`${name}\` is no action of a rule`, at, {
        suggestions: ['the actions are `read`, `insert`, `update` and `delete`'],
        ...spellingFix(near, at)
      })
    )
  }

  condition(expression: Expression): RuleCondition {
    const node = bare(expression)
    if (node.kind === 'Bool') return { holds: node.value }
    if (node.kind === 'Identifier') return this.#holds(node)
    if (node.kind === 'Unary' && node.operator === 'not') return { not: this.condition(node.operand) }
    if (node.kind === 'Binary') return this.#binary(node)
    if (node.kind === 'Call') return this.#has(node)
    return this.#unfit(node)
  }

  #binary(node: Binary): RuleCondition {
    const { operator, left, right } = node
    if (operator === 'and') return { all: [this.condition(left), this.condition(right)] }
    if (operator === 'or') return { any: [this.condition(left), this.condition(right)] }
    if (!OPERATORS.has(operator)) return this.#unfit(node)
    const [one, other] = [this.#operand(left), this.#operand(right)]
    if (one === null || other === null) return { holds: false }
    if (!this.#fits(operator, one, other)) {
      this.report(
        node,
        `\`${operator}\` cannot compare these values`,
        'compare values of the same type; `user.id` fits int, Id and str columns'
      )
    }
    return { left: one.operand, operator: operator as RuleOperator, right: other.operand }
  }

  #fits(operator: string, one: Operand, other: Operand): boolean {
    const isEquality = operator === 'is' || operator === 'isnt'
    if (one.kind === 'none' || other.kind === 'none') return isEquality && (one.isOptional || other.isOptional)
    if (one.kind === 'other' || other.kind === 'other') return false
    if (one.kind === 'user' || other.kind === 'user') {
      const kinds = [one.kind, other.kind]
      return (
        isEquality && (kinds.includes('str') || kinds.includes('int') || (one.kind === 'user' && other.kind === 'user'))
      )
    }
    const isNumber = (kind: string): boolean => kind === 'int' || kind === 'float' || kind === 'dec'
    if (!isEquality && !(ORDERED.has(one.kind) && ORDERED.has(other.kind))) return false
    return one.kind === other.kind || (isNumber(one.kind) && isNumber(other.kind))
  }

  #operand(expression: Expression): Operand | null {
    const node = bare(expression)
    const literal = literalOf(node)
    if (literal !== null) {
      const { type } = literal
      return { operand: literal, kind: type === 'none' ? 'none' : type, isOptional: false }
    }
    if (node.kind === 'Member') return this.#member(node)
    if (node.kind !== 'Identifier') {
      this.#unfit(node)
      return null
    }
    const column = this.#columns.get(node.name)
    if (column === undefined) {
      this.#unknownColumn(node)
      return null
    }
    return { operand: { column: node.name }, kind: column.kind, isOptional: column.isOptional }
  }

  #member(node: Member): Operand | null {
    const { object, property } = node
    const of = bare(object)
    if (of.kind !== 'Identifier' || of.name !== 'user') {
      this.#unfit(node)
      return null
    }
    if (property.text === 'id' || property.text === 'provider') {
      // Both are a str; only the id may also be compared with the id of a row.
      const kind = property.text === 'id' ? 'user' : 'str'
      return { operand: { user: property.text }, kind, isOptional: false }
    }
    if (property.text === 'roles' || property.text === 'scopes') {
      const example = `user.${property.text}.contains("…")`
      this.report(node, `\`user.${property.text}\` is a list`, `write \`${example}\``)
      return null
    }
    this.problems.push(
      diagnostic('auth.rule', `\`user\` has no member \`${property.text}\` in a rule`, property, {
        suggestions: [`its members are ${USER_MEMBERS.map(each => `\`${each}\``).join(', ')}`],
        ...spellingFix(nearName(property.text, USER_MEMBERS), property)
      })
    )
    return null
  }

  /** Reads a bool column, or `user`, which holds for a caller with an identity. */
  #holds(node: Identifier): RuleCondition {
    const column = this.#columns.get(node.name)
    if (column === undefined) {
      if (node.name === 'user') return { signedIn: true }
      this.#unknownColumn(node)
      return { holds: false }
    }
    if (column.kind !== 'bool' || column.isOptional) {
      this.report(node, `the column \`${node.name}\` is no bool`, 'compare it with `is`')
    }
    return { holds: node.name }
  }

  /** Reads `user.roles.contains("admin")`. */
  #has(node: Call): RuleCondition {
    const { callee, args } = node
    const [value] = args
    if (callee.kind === 'Member' && callee.property.text === 'contains' && args.length === 1 && value !== undefined) {
      const list = bare(callee.object)
      const text = bare(value.value)
      if (list.kind === 'Member' && text.kind === 'String') {
        const { property, object } = list
        const isUser = object.kind === 'Identifier' && object.name === 'user'
        if (isUser && (property.text === 'roles' || property.text === 'scopes')) {
          return { has: property.text, value: text.value }
        }
      }
    }
    return this.#unfit(node)
  }

  #unknownColumn({ name, ...at }: Identifier): void {
    const names = [...this.#columns.keys()]
    this.problems.push(
      diagnostic('auth.rule', `the table \`${this.#table}\` has no column \`${name}\``, at, {
        suggestions: [`its columns are ${names.map(each => `\`${each}\``).join(', ')}`],
        ...spellingFix(nearName(name, names), at)
      })
    )
  }

  #unfit(at: Span): RuleCondition {
    this.report(at, 'a rule cannot have this expression', FORMS)
    return { holds: false }
  }
}

type Literal = Extract<RuleOperand, { readonly literal: unknown }>

function literalOf(node: Expression): Literal | null {
  if (node.kind === 'Unary' && node.operator === '-') {
    const inner = literalOf(bare(node.operand))
    if (inner === null || inner.type === 'str' || typeof inner.literal === 'boolean' || inner.literal === null)
      return null
    return { ...inner, literal: typeof inner.literal === 'number' ? -inner.literal : `-${inner.literal}` }
  }
  switch (node.kind) {
    case 'String':
      return { literal: node.value, type: 'str' }
    case 'Int':
      return { literal: node.digits.replaceAll('_', ''), type: 'int' }
    case 'Float':
      return { literal: Number(node.digits.replaceAll('_', '')), type: 'float' }
    case 'Decimal':
      return { literal: node.digits.replaceAll('_', ''), type: 'dec' }
    case 'Bool':
      return { literal: node.value, type: 'bool' }
    case 'Identifier':
      return node.name === 'None' ? { literal: null, type: 'none' } : null
    default:
      return null
  }
}
