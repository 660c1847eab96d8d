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

/** Nodes that stand directly in a node, in the order of the source. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = []
  for (const key in node) {
    const value: unknown = node[key as keyof AnyNode]
    // The decorator of the role is among the decorators as well.
    if (typeof value === 'object' && key !== 'roleDecorator') collect(value, found)
  }
  // Most syntax is written down in the order in which its parts are declared.
  for (let index = 1; index < found.length; index++) {
    if ((found[index] as AnyNode).start < (found[index - 1] as AnyNode).start)
      return found.sort((a, b) => a.start - b.start)
  }
  return found
}

function collect(value: object | null, found: AnyNode[]): void {
  if (value === null) return
  if (Array.isArray(value)) {
    for (const inner of value as unknown[]) if (typeof inner === 'object') collect(inner, found)
  } else if (isNode(value)) found.push(value)
  else {
    for (const key in value) {
      const inner: unknown = value[key as keyof typeof value]
      if (typeof inner === 'object') collect(inner, found)
    }
  }
}

function isNode(value: object): value is AnyNode {
  return 'kind' in value && typeof value.kind === 'string'
}
