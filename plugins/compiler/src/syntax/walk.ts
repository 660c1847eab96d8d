import type { Node } from './node.ts'

/** Any node of a syntax tree. */
export type AnyNode = Node<string>

/**
 * Calls `visit` for a node and all of its descendants, in source order. Skips the descendants if `visit` returns false.
 */
export function walk(node: AnyNode, visit: (node: AnyNode) => boolean | undefined): void {
  if (visit(node) === false) return
  walkChildren(node, visit, [])
}

/** Visits the descendants of a node. `stack` holds the children of all nodes around it: an array a node is slow. */
function walkChildren(node: AnyNode, visit: (node: AnyNode) => boolean | undefined, stack: AnyNode[]): void {
  const from = stack.length
  addChildren(node, stack)
  const to = stack.length
  for (let index = from; index < to; index++) {
    const child = stack[index] as AnyNode
    if (visit(child) !== false) walkChildren(child, visit, stack)
  }
  stack.length = from
}

/** Returns the direct children of a node, in source order. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = []
  addChildren(node, found)
  return found
}

function addChildren(node: AnyNode, found: AnyNode[]): void {
  const from = found.length
  for (const key in node) {
    const value: unknown = node[key as keyof AnyNode]
    // The decorator of the role is skipped, since it is also in `decorators`.
    if (typeof value === 'object' && value !== null && key !== 'roleDecorator') collect(value, found)
  }
  // Most node types declare their children in source order; others are sorted here.
  for (let index = from + 1; index < found.length; index++) {
    if ((found[index] as AnyNode).start < (found[index - 1] as AnyNode).start) {
      found.push(...found.splice(from).sort((a, b) => a.start - b.start))
      return
    }
  }
}

function collect(value: object, found: AnyNode[]): void {
  if (Array.isArray(value)) {
    for (const inner of value as unknown[]) if (typeof inner === 'object' && inner !== null) collect(inner, found)
  } else if (isNode(value)) found.push(value)
  else {
    for (const key in value) {
      const inner: unknown = value[key as keyof typeof value]
      if (typeof inner === 'object' && inner !== null) collect(inner, found)
    }
  }
}

function isNode(value: object): value is AnyNode {
  return typeof (value as { readonly kind?: unknown }).kind === 'string'
}
