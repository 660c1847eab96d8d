import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Block, Loop, Statement } from '../../syntax/ast-statements.ts'
import { type AnyNode, childrenOf } from '../../syntax/walk.ts'
import { resolved } from '../type.ts'
import type { TypedModule } from '../typed-module.ts'

/** Reports statements that no run reaches, since the statement before them never ends or always jumps. */
export class UnreachableRule {
  readonly kinds = ['Block']
  readonly found: Diagnostic[] = []
  readonly #typeOf: TypedModule['typeOf']
  /** Whether a node jumps, for nodes that were visited. */
  readonly #jumps = new Map<AnyNode, boolean>()

  constructor({ typeOf }: TypedModule) {
    this.#typeOf = typeOf
  }

  node(node: AnyNode): void {
    if (node.kind !== 'Block') return
    const { statements } = node as Block
    for (let index = 0; index < statements.length - 1; index++) {
      if (!this.#jumpsAlways(statements[index] as Statement)) continue
      const { start } = statements[index + 1] as Statement
      const { end } = statements.at(-1) as Statement
      const related = [{ span: statements[index] as Statement, message: 'this never continues' }]
      this.found.push(diagnostic('lint.unreachable', 'no run reaches this code', { start, end }, { related }))
      return
    }
  }

  /** True if control never leaves a statement or an expression at its end. */
  #jumpsAlways(node: Statement | Expression): boolean {
    const known = this.#jumps.get(node)
    if (known !== undefined) return known
    const found = this.#find(node)
    this.#jumps.set(node, found)
    return found
  }

  #find(node: Statement | Expression): boolean {
    switch (node.kind) {
      case 'Return':
      case 'Break':
      case 'Continue':
        return true
      case 'Loop':
        return !hasBreak(node)
      case 'ExpressionStatement':
        return this.#jumpsAlways(node.expression)
      case 'Let':
      case 'Assign':
        return this.#jumpsAlways(node.value)
      case 'Paren':
        return this.#jumpsAlways(node.inner)
      case 'Block':
        return node.statements.some(each => this.#jumpsAlways(each))
      case 'If':
        return (
          this.#jumpsAlways(node.condition) ||
          (node.else !== null && this.#jumpsAlways(node.then) && this.#jumpsAlways(node.else))
        )
      case 'Match':
        return (
          this.#jumpsAlways(node.subject) ||
          (node.arms.length > 0 && node.arms.every(({ body }) => this.#jumpsAlways(body)))
        )
      case 'Call':
        return resolved(this.#typeOf(node)).kind === 'never'
      default:
        return false
    }
  }
}

/** True if a loop contains a `break` that ends it. */
function hasBreak({ body }: Loop): boolean {
  const open: AnyNode[] = [body]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'Break') return true
    if (!ENDS_BREAKS.has(node.kind)) open.push(...childrenOf(node))
  }
  return false
}

/** A `break` in these nodes ends another loop, or none. */
const ENDS_BREAKS: ReadonlySet<string> = new Set(['Loop', 'While', 'For', 'Lambda'])
