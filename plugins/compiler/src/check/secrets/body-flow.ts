import type { Declaration, Param } from '../../syntax/ast.ts'
import type { Argument, Call, Expression } from '../../syntax/ast-expressions.ts'
import type { Pattern, Statement } from '../../syntax/ast-statements.ts'
import { entryValue } from '../../syntax/entries.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import { isDbMember } from '../../types/db/chain.ts'
import { boundNames, type ModuleNames } from '../../types/module-names.ts'
import { memberPath } from '../member-path.ts'
import { type Flows, NOWHERE, type Origins, SECRET, union } from './flow.ts'

/** Calls that return values a model must not see. */
const SECRETS = /^(secrets\.\w+|std\.secrets\.\w+|(std\.)?env\.get)$/

/** Builtin functions whose result contains their arguments. */
const CONTAINING_FUNCTIONS: ReadonlySet<string> = new Set(['str', 'to_string', 'Some', 'Ok', 'Error', 'Err'])

/** Standard library functions that return their arguments in another form. */
const CONVERTING_FUNCTIONS = /^(std\.)?(json|csv|toml|yaml|path|list)\./

/** Methods that return a property of a value, such as its length, but not the value itself. */
const PROPERTY_METHODS: ReadonlySet<string> = new Set(
  'len length chars_count is_empty contains starts_with ends_with index_of is_some is_none is_ok is_err any all'.split(
    ' '
  )
)

/** Maximum passes over a body. Assignments between variables may need more than one. */
const MAX_PASSES = 20

export interface FlowContext {
  readonly names: ModuleNames
  readonly flows: Flows
  /** Functions that call a model. */
  readonly modelBacked: ReadonlySet<Declaration>
}

/**
 * Called for each value that reaches a model. `value` is an argument of a call of `to`, which passes it to a model
 * directly or through callees.
 */
export type OnLeak = (value: Expression, origins: Origins, to: string) => void

/** Tracks the origins of values in one body. Scopes are ignored, so the result is an over-approximation. */
export class BodyFlow {
  readonly #context: FlowContext
  readonly #onLeak: OnLeak
  readonly #locals = new Map<string, Origins>()
  #result: Origins = NOWHERE
  #hasGrown = false

  constructor(context: FlowContext, onLeak: OnLeak) {
    this.#context = context
    this.#onLeak = onLeak
  }

  /** Returns the origins of the body's result. */
  analyse(params: readonly Param[], body: Expression): Origins {
    for (const [index, { name }] of params.entries()) this.#bind(name.text, new Set([index]))
    // An assignment in a loop may affect a read above it.
    for (let reading = 0; reading < MAX_PASSES; reading++) {
      this.#hasGrown = false
      this.#result = union([this.#result, this.origins(body)])
      if (!this.#hasGrown) break
    }
    return this.#result
  }

  statement(statement: Statement): Origins {
    switch (statement.kind) {
      case 'Let':
        this.#pattern(statement.pattern, this.origins(statement.value))
        return NOWHERE
      case 'Assign': {
        const found = this.origins(statement.value)
        const name = rootOf(statement.target)
        if (name !== null) this.#bind(name, found)
        return NOWHERE
      }
      case 'ExpressionStatement':
        return this.origins(statement.expression)
      case 'Return':
        if (statement.value !== null) this.#result = union([this.#result, this.origins(statement.value)])
        return NOWHERE
      case 'While':
        this.origins(statement.condition)
        this.origins(statement.body)
        return NOWHERE
      case 'Loop':
        this.origins(statement.body)
        return NOWHERE
      default:
        return NOWHERE
    }
  }

  origins(expression: Expression): Origins {
    switch (expression.kind) {
      case 'Identifier':
        return this.#named(expression.name)
      case 'Paren':
        return this.origins(expression.inner)
      case 'Block':
        return expression.statements.map(each => this.statement(each)).at(-1) ?? NOWHERE
      case 'SideEffect':
        return this.origins(expression.body)
      case 'If':
        this.origins(expression.condition)
        return union([
          this.origins(expression.then),
          expression.else === null ? NOWHERE : this.origins(expression.else)
        ])
      case 'Match': {
        const subject = this.origins(expression.subject)
        return union(
          expression.arms.map(({ patterns, guard, body }) => {
            for (const pattern of patterns) this.#pattern(pattern, subject)
            if (guard !== null) this.origins(guard)
            return isStatement(body) ? this.statement(body) : this.origins(body)
          })
        )
      }
      case 'For':
        this.#pattern(expression.binding, this.origins(expression.iterable))
        return this.origins(expression.body)
      case 'Lambda':
        return this.origins(expression.body)
      case 'Tuple':
      case 'List':
        return union(expression.items.map(item => this.origins(item)))
      case 'Object':
      case 'Struct':
        return union(expression.entries.map(entry => this.origins(entryValue(entry))))
      case 'Unary':
        this.origins(expression.operand)
        return NOWHERE
      case 'Try':
      case 'With':
        return this.origins(expression.operand)
      case 'Binary':
        return this.#binary(expression)
      case 'Call':
        return this.#call(expression, [])
      case 'Member':
      case 'TupleIndex':
        return this.origins(expression.object)
      case 'IndexAccess':
        this.origins(expression.index)
        return this.origins(expression.object)
      case 'Spawn':
        this.origins(expression.target)
        return NOWHERE
      case 'Element':
        for (const { value } of expression.attributes) if (value !== null) this.origins(value)
        for (const child of expression.children ?? []) this.origins(child)
        return NOWHERE
      case 'ElementFragment':
        for (const child of expression.children) this.origins(child)
        return NOWHERE
      default:
        return NOWHERE
    }
  }

  #named(name: string): Origins {
    const local = this.#locals.get(name)
    if (local !== undefined) return local
    const entry = this.#context.names.get(name)
    return entry?.kind === 'constant' ? (this.#context.flows.get(entry.declaration)?.result ?? NOWHERE) : NOWHERE
  }

  #binary({ operator, left, right }: Extract<Expression, { kind: 'Binary' }>): Origins {
    if (operator === '|>') {
      if (right.kind === 'Call') return this.#call(right, [left])
      return this.#called(right, [{ name: null, value: left }])
    }
    const parts = [this.origins(left), this.origins(right)]
    return operator === '+' ? union(parts) : NOWHERE
  }

  #call({ callee, args }: Call, piped: readonly Expression[]): Origins {
    return this.#called(callee, [...piped.map(value => ({ name: null, value })), ...args])
  }

  #called(callee: Expression, args: readonly Pick<Argument, 'name' | 'value'>[]): Origins {
    const argumentOrigins = args.map(({ value }) => this.origins(value))
    if (callee.kind === 'Identifier') return this.#function(callee.name, args, argumentOrigins)
    const path = memberPath(callee)
    if (callee.kind !== 'Member' || isDbMember(callee)) return NOWHERE
    if (path !== null && this.#isHost(path[0] ?? '')) {
      const name = path.join('.')
      if (SECRETS.test(name)) return new Set([SECRET])
      return CONVERTING_FUNCTIONS.test(name) ? union(argumentOrigins) : NOWHERE
    }
    const object = this.origins(callee.object)
    // A lambda argument receives elements of the receiver.
    for (const { value } of args) if (value.kind === 'Lambda') this.#params(value.params, object)
    return PROPERTY_METHODS.has(callee.property.text) ? NOWHERE : union([object, ...argumentOrigins])
  }

  #function(
    name: string,
    args: readonly Pick<Argument, 'name' | 'value'>[],
    argumentOrigins: readonly Origins[]
  ): Origins {
    const { names, flows, modelBacked } = this.#context
    const entry = this.#locals.has(name) ? undefined : names.get(name)
    if (entry === undefined) return CONTAINING_FUNCTIONS.has(name) ? union(argumentOrigins) : NOWHERE
    if (entry.kind === 'constructor') return union(argumentOrigins)
    const isModelBacked = modelBacked.has(entry.declaration)
    const flow = flows.get(entry.declaration)
    const positions = args.map(({ name: argument }, index) =>
      argument === null ? index : (entry.signature?.params.findIndex(each => each.name.text === argument.text) ?? -1)
    )
    for (const [index, { value }] of args.entries()) {
      if (isModelBacked || flow?.leaked.has(positions[index] ?? -1))
        this.#onLeak(value, argumentOrigins[index] ?? NOWHERE, name)
    }
    if (isModelBacked || flow === undefined) return NOWHERE
    return union(
      [...flow.result].map(origin =>
        origin === SECRET ? new Set([SECRET] as const) : (argumentOrigins[positions.indexOf(origin)] ?? NOWHERE)
      )
    )
  }

  #isHost(root: string): boolean {
    const entry = this.#context.names.get(root)
    return !this.#locals.has(root) && (entry === undefined || entry.kind === 'import')
  }

  #params(params: readonly Param[], origins: Origins): void {
    const [first] = params
    if (first !== undefined) this.#bind(first.name.text, origins)
  }

  #pattern(pattern: Pattern, origins: Origins): void {
    for (const { text } of boundNames(pattern)) this.#bind(text, origins)
  }

  #bind(name: string, origins: Origins): void {
    const known = this.#locals.get(name)
    const all = union([known ?? NOWHERE, origins])
    if (known !== undefined && all.size === known.size) return
    this.#locals.set(name, all)
    if (all.size > 0) this.#hasGrown = true
  }
}

function rootOf(target: Expression): string | null {
  if (target.kind === 'Identifier') return target.name
  return target.kind === 'Member' || target.kind === 'IndexAccess' ? rootOf(target.object) : null
}
