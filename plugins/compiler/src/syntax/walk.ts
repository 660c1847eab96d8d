import type { Node } from './node.ts'

/** Any node of a syntax tree, as a walk meets it. */
export type AnyNode = Node<string>

/**
 * Calls `visit` for a node and everything in it, in the order of the source. Where it returns false, what is in the node
 * is left out.
 */
export function walk(node: AnyNode, visit: (node: AnyNode) => boolean | undefined): void {
  if (visit(node) === false) return
  for (const child of childrenOf(node)) walk(child, visit)
}

/** Nodes that stand directly in a node. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = []
  for (const [key, value] of Object.entries(node)) {
    // It is among the decorators as well.
    if (key !== 'roleDecorator') collect(value, found)
  }
  return found.sort((a, b) => a.start - b.start)
}

function collect(value: unknown, found: AnyNode[]): void {
  if (typeof value !== 'object' || value === null) return
  if (isNode(value)) found.push(value)
  else for (const inner of Array.isArray(value) ? value : Object.values(value)) collect(inner, found)
}

function isNode(value: object): value is AnyNode {
  return 'kind' in value && typeof value.kind === 'string'
}
