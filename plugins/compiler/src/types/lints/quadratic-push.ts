import { type Diagnostic, diagnostic, type Fix } from '../../diagnostics/diagnostic.ts'
import type { Binary, Expression } from '../../syntax/ast-expressions.ts'
import type { Assign, Let } from '../../syntax/ast-statements.ts'
import type { Span } from '../../syntax/node.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import { boundNames } from '../module-names.ts'

/** Reports loops that copy a whole list in every round to add elements to it. */
export class QuadraticPushRule {
  readonly kinds = ['For', 'While', 'Loop', 'Let', 'Assign']
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
    const growth = loop === undefined ? null : growthOf(node)
    // A list that is declared in the loop is a short one, which each round makes.
    if (loop === undefined || growth === null || (this.#declared.get(growth.root) ?? -1) > loop.start) return
    const { list, fix, suggestion } = growth
    this.found.push(
      diagnostic('lint.quadratic_push', `every round of the loop copies \`${list}\``, node, {
        suggestions: [suggestion],
        fixes: fix === null ? [] : [fix]
      })
    )
  }
}

interface Growth {
  /** The list, as in the source. */
  readonly list: string
  /** The variable that holds it. */
  readonly root: string
  readonly fix: Fix | null
  readonly suggestion: string
}

/** Returns the list that an assignment copies to add elements; null for other assignments. */
function growthOf({ target, operator, value }: Assign): Growth | null {
  const list = pathOf(target)
  if (list === null || (operator !== '=' && operator !== '+=')) return null
  const root = list.split('.')[0] as string
  if (list !== root) {
    // Only a variable can hold the sole reference to a list, which is then changed in place.
    const adds = operator === '+=' ? value.kind === 'List' : addsTo(value, list) !== null
    return adds ? { list, root, fix: null, suggestion: 'add to a variable, and assign the field after the loop' } : null
  }
  if (operator === '+=') return null
  switch (addsTo(value, list)) {
    case 'end': {
      const { start } = (value as Binary).right
      const fix = { label: 'write +=', span: { start: target.end, end: start }, replacement: ' += ' }
      return { list, root, fix, suggestion: `write \`${list} += […]\` or \`${list}.push(…)\`, which do not copy it` }
    }
    case 'start':
      return { list, root, fix: null, suggestion: 'add at the end, and call `reverse` after the loop' }
    default:
      return null
  }
}

/** Returns where a value adds elements to a list. `push` adds to a variable without a copy, but not to a field. */
function addsTo(value: Expression, list: string): 'end' | 'start' | 'push' | null {
  if (value.kind === 'Call') {
    const { callee } = value
    const isPush = callee.kind === 'Member' && (callee.property.text === 'push' || callee.property.text === 'append')
    return isPush && pathOf(callee.object) === list ? 'push' : null
  }
  if (value.kind !== 'Binary' || value.operator !== '+') return null
  if (value.right.kind === 'List' && pathOf(value.left) === list) return 'end'
  return value.left.kind === 'List' && pathOf(value.right) === list ? 'start' : null
}

/** Returns a variable or a field of one as in the source: `xs`, `page.items`. */
function pathOf(expression: Expression): string | null {
  if (expression.kind === 'Identifier') return expression.name
  if (expression.kind !== 'Member') return null
  const object = pathOf(expression.object)
  return object === null ? null : `${object}.${expression.property.text}`
}
