import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Assign, Let } from '../../syntax/ast-statements.ts'
import type { Span } from '../../syntax/node.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import { boundNames } from '../module-names.ts'

/** Reports loops that add elements to a list with `+`, which copies the whole list in every round. */
export class QuadraticPushRule {
  readonly found: Diagnostic[] = []
  /** Loops around the current node. Nodes are visited in source order. */
  readonly #loops: Span[] = []
  /** The position of the last declaration of each variable. */
  readonly #declared = new Map<string, number>()

  node(node: AnyNode): void {
    switch (node.kind) {
      case 'For':
      case 'While':
      case 'Loop':
        this.#leaveLoopsBefore(node)
        this.#loops.push(node)
        return
      case 'Let':
        for (const { text } of boundNames((node as Let).pattern)) this.#declared.set(text, node.start)
        return
      case 'Assign':
        this.#leaveLoopsBefore(node)
        this.#assign(node as Assign)
    }
  }

  #leaveLoopsBefore({ start }: Span): void {
    while ((this.#loops.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= start) this.#loops.pop()
  }

  #assign(node: Assign): void {
    const loop = this.#loops.at(-1)
    const list = grownList(node)
    // A list that is declared in the loop is a short one, which each round makes.
    if (loop === undefined || list === null || (this.#declared.get(list) ?? -1) > loop.start) return
    this.found.push(
      diagnostic('lint.quadratic_push', `every round of the loop copies \`${list}\``, node, {
        suggestions: [`write \`${list} = ${list}.push(…)\`, which adds an element without a copy`]
      })
    )
  }
}

/** Returns the variable in `xs = xs + […]` and `xs += […]`; null for other assignments. */
function grownList({ target, operator, value }: Assign): string | null {
  if (target.kind !== 'Identifier') return null
  if (operator === '+=') return value.kind === 'List' ? target.name : null
  if (operator !== '=' || value.kind !== 'Binary' || value.operator !== '+' || value.right.kind !== 'List') return null
  return value.left.kind === 'Identifier' && value.left.name === target.name ? target.name : null
}
