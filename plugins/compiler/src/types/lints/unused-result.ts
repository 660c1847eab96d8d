import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Binary, Call, Expression, For, If, Match, Paren } from '../../syntax/ast-expressions.ts'
import type { Block } from '../../syntax/ast-statements.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import { RESULT } from '../builtin-types.ts'
import { resolved, type Type } from '../type.ts'
import type { ResolvedCall, TypedModule } from '../typed-module.ts'

/** Operators that compute a value and do nothing else. */
const VALUE_OPERATORS: ReadonlySet<string> = new Set(['is', 'isnt', '<', '>', '<=', '>=', '+', '-', '*', '/', '%'])

/**
 * Reports statements that ignore a failure, or compute a value that nothing takes. In a component a call throws if it
 * fails, and the page shows that, so components may ignore a `Result`.
 */
export class UnusedResultRule {
  readonly kinds = null
  readonly found: Diagnostic[] = []
  readonly #module: TypedModule
  /** Expressions whose value nothing takes. Outer nodes are visited first, and add the inner ones. */
  readonly #ignored = new Set<Expression>()

  constructor(module: TypedModule) {
    this.#module = module
  }

  node(node: AnyNode, item: Declaration): void {
    if (node.kind === 'Block') this.#block(node as Block)
    if (this.#ignored.size === 0 || !this.#ignored.delete(node as Expression)) return
    switch (node.kind) {
      case 'Block': {
        const last = (node as Block).statements.at(-1)
        if (last?.kind === 'ExpressionStatement') this.#ignored.add(last.expression)
        return
      }
      case 'Paren':
        this.#ignored.add((node as Paren).inner)
        return
      case 'If': {
        const { then, else: otherwise } = node as If
        this.#ignored.add(then)
        if (otherwise !== null) this.#ignored.add(otherwise)
        return
      }
      case 'Match':
        for (const { body } of (node as Match).arms) if (!isStatement(body)) this.#ignored.add(body)
        return
      case 'For':
        this.#ignored.add((node as For).body)
        return
      default:
        this.#value(node as Expression, item)
    }
  }

  #block({ statements }: Block): void {
    for (let index = 0; index < statements.length - 1; index++) {
      const statement = statements[index]
      if (statement?.kind === 'ExpressionStatement') this.#ignored.add(statement.expression)
    }
  }

  #value(expression: Expression, item: Declaration): void {
    const type = resolved(this.#module.typeOf(expression))
    if (isResult(type)) {
      if (item.kind === 'Component') return
      this.#report('the failure of this call is ignored', expression, [
        'write `?` after it, or handle both cases with `match`'
      ])
    } else if (expression.kind === 'Binary' && VALUE_OPERATORS.has((expression as Binary).operator)) {
      const isComparison = expression.operator === 'is'
      this.#report('nothing takes this value', expression, isComparison ? ['to assign a variable, write `=`'] : [])
    } else if (expression.kind === 'Call') this.#call(expression, type)
    else if (expression.kind === 'Identifier' && type.kind === 'fn') {
      this.#report(`\`${expression.name}\` is not called`, expression, [`write \`${expression.name}(…)\``])
    }
  }

  #call(call: Call, type: Type): void {
    const target = this.#module.callOf(call)?.target
    if (target?.kind !== 'native' || !isPureMethod(target)) return
    const name = target.native.path.slice(target.native.path.lastIndexOf('.') + 1)
    const same = target.native.receiver
    // `push` and the like are often taken for changes of the value itself.
    const isCopy = same !== null && type.kind === 'named' && defOf(same) === type.def
    const message = isCopy
      ? `\`${name}\` returns another value, which nothing takes`
      : `nothing takes the result of \`${name}\``
    this.#report(message, call, isCopy ? [`assign it: \`x = x.${name}(…)\``] : [])
  }

  #report(message: string, node: Expression, suggestions: string[]): void {
    this.found.push(diagnostic('lint.unused_result', message, node, { suggestions }))
  }
}

function isResult(type: Type): boolean {
  return defOf(type) === RESULT
}

function defOf(type: Type): unknown {
  const inner = resolved(type)
  return inner.kind === 'named' ? inner.def : null
}

/** True for a method of a value that does nothing but return another value. One that calls a function may do more. */
function isPureMethod({ native }: Extract<ResolvedCall['target'], { kind: 'native' }>): boolean {
  if (native.receiver === null || native.effects.length > 0) return false
  const result = resolved(native.result)
  if (result.kind === 'never' || native.params.some(({ type }) => resolved(type).kind === 'fn')) return false
  // `unwrap` ends the program if there is no value.
  return !native.path.endsWith('.unwrap')
}
