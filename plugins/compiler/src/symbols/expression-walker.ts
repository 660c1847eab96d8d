import type { Declaration, Param } from '../syntax/ast.ts'
import type { Call, Expression, MatchArm } from '../syntax/ast-expressions.ts'
import type { Pattern, Statement } from '../syntax/ast-statements.ts'
import { entryValue } from '../syntax/entries.ts'
import { isStatement } from '../syntax/is-statement.ts'
import type { Name } from '../syntax/node.ts'
import { boundNames, type ModuleNames } from '../types/module-names.ts'
import { NATIVES } from '../types/natives/natives.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'
import { type LocalName, Scopes } from './scopes.ts'

/** Walks statements and expressions with the names in scope, and calls the rules for each node. */
export abstract class ExpressionWalker implements BodyPosition {
  readonly names: ModuleNames
  readonly item: Declaration
  readonly #rules: readonly BodyRule[]
  protected readonly scopes = new Scopes()
  readonly #ignored = new Set<Expression>()

  constructor(names: ModuleNames, rules: readonly BodyRule[], item: Declaration) {
    this.names = names
    this.item = item
    this.#rules = rules
  }

  ignore(expression: Expression): void {
    this.#ignored.add(expression)
  }

  meaning(name: string): Meaning {
    const local = this.scopes.lookup(name)
    if (local !== undefined) return { kind: 'local', local }
    const entry = this.names.get(name)
    if (entry !== undefined) return { kind: 'module', entry }
    return NATIVES.global(name) !== undefined || NATIVES.isRoot(name) ? { kind: 'builtin' } : null
  }

  known(): string[] {
    return [...this.scopes.names(), ...this.names.keys(), ...NATIVES.globalNames()]
  }

  protected params(params: readonly Param[]): void {
    for (const { name, value } of params) {
      this.optional(value)
      this.bind({ kind: 'parameter', name, isMutable: false, canBeMutable: false })
    }
  }

  protected bind(local: LocalName): void {
    this.scopes.bind(local)
    for (const rule of this.#rules) rule.bind?.(local, this)
  }

  protected pattern(pattern: Pattern, isMutable = false, canBeMutable = false): void {
    this.#constructors(pattern)
    for (const name of boundNames(pattern)) this.bind({ kind: 'variable', name, isMutable, canBeMutable })
  }

  #constructors(pattern: Pattern): void {
    if (pattern.kind === 'TuplePattern') for (const item of pattern.items) this.#constructors(item)
    if (pattern.kind !== 'ConstructorPattern') return
    for (const rule of this.#rules) rule.constructorPattern?.(pattern, this)
    for (const arg of pattern.args ?? []) this.#constructors(arg)
  }

  protected statement(statement: Statement): void {
    switch (statement.kind) {
      case 'Let':
        this.expression(statement.value)
        this.pattern(statement.pattern, statement.isMutable, statement.pattern.kind === 'BindingPattern')
        return
      case 'Assign':
        for (const rule of this.#rules) rule.assign?.(statement, this)
        this.expression(statement.value)
        this.expression(statement.target)
        return
      case 'ExpressionStatement':
        this.expression(statement.expression)
        return
      case 'Return':
        this.optional(statement.value)
        return
      case 'While':
        this.expression(statement.condition)
        this.expression(statement.body)
        return
      case 'Loop':
        this.expression(statement.body)
    }
  }

  protected optional(expression: Expression | null): void {
    if (expression !== null) this.expression(expression)
  }

  #all(expressions: readonly Expression[]): void {
    for (const expression of expressions) this.expression(expression)
  }

  protected expression(expression: Expression): void {
    if (this.#ignored.has(expression)) return
    switch (expression.kind) {
      case 'Identifier':
        for (const rule of this.#rules) rule.identifier?.(expression, this.meaning(expression.name), this)
        return
      case 'Paren':
        this.expression(expression.inner)
        return
      case 'Tuple':
      case 'List':
        this.#all(expression.items)
        return
      case 'Object':
      case 'Struct':
        for (const entry of expression.entries) this.expression(entryValue(entry))
        return
      case 'Block':
        this.scopes.within(() => {
          for (const statement of expression.statements) this.statement(statement)
        })
        return
      case 'If':
        this.expression(expression.condition)
        this.expression(expression.then)
        this.optional(expression.else)
        return
      case 'Match':
        for (const rule of this.#rules) rule.match?.(expression, this)
        this.expression(expression.subject)
        for (const arm of expression.arms) this.scopes.within(() => this.#arm(arm))
        return
      case 'For':
        this.expression(expression.iterable)
        this.scopes.within(() => {
          this.pattern(expression.binding)
          if (expression.index !== null) this.bind(variable(expression.index))
          this.optional(expression.key)
          this.expression(expression.body)
        })
        return
      case 'Lambda':
        this.scopes.within(() => {
          this.params(expression.params)
          this.expression(expression.body)
        })
        return
      case 'Spawn':
        for (const rule of this.#rules) rule.spawn?.(expression, this)
        if (expression.target.kind === 'Call') for (const arg of expression.target.args) this.expression(arg.value)
        else if (expression.target.kind !== 'Identifier') this.expression(expression.target)
        return
      case 'SideEffect':
        this.expression(expression.body)
        return
      case 'Unary':
      case 'Try':
        this.expression(expression.operand)
        return
      case 'Binary': {
        this.expression(expression.left)
        const { right } = expression
        if (expression.operator === '|>' && right.kind === 'Call') this.#call(right, 1)
        else this.expression(right)
        return
      }
      case 'With':
        this.options(expression.options, expression.operand)
        this.expression(expression.operand)
        return
      case 'Call':
        this.#call(expression, 0)
        return
      case 'Member': {
        const { object } = expression
        for (const rule of this.#rules) rule.member?.(expression, this)
        if (object.kind !== 'Identifier' || object.name !== 'db') this.expression(object)
        return
      }
      case 'TupleIndex':
        this.expression(expression.object)
        return
      case 'IndexAccess':
        this.expression(expression.object)
        this.expression(expression.index)
        return
      case 'Element':
        for (const { value } of expression.attributes) this.optional(value)
        this.#all(expression.children ?? [])
        return
      case 'ElementFragment':
        this.#all(expression.children)
    }
  }

  #call(call: Call, piped: 0 | 1): void {
    for (const rule of this.#rules) rule.call?.(call, piped, this)
    this.expression(call.callee)
    for (const { value } of call.args) this.expression(value)
  }

  protected options(options: Expression, operand: Expression | null): void {
    for (const rule of this.#rules) rule.options?.(options, operand, this)
    this.expression(options)
  }

  #arm({ patterns, guard, body }: MatchArm): void {
    // All alternatives of a pattern bind the same names.
    for (const pattern of patterns) this.pattern(pattern)
    this.optional(guard)
    if (isStatement(body)) this.statement(body)
    else this.expression(body)
  }
}

function variable(name: Name): LocalName {
  return { kind: 'variable', name, isMutable: false, canBeMutable: false }
}
