import type { Node } from './node.ts'

/** Any node of a syntax tree. */
export type AnyNode = Node<string>

/**
 * Calls `visit` for a node and all of its descendants, in source order. Skips the descendants if `visit` returns false.
 */
export function walk(node: AnyNode, visit: (node: AnyNode) => boolean | undefined): void {
  if (visit(node) === false) return
  for (const child of childrenOf(node)) walk(child, visit)
}

/** Returns the direct children of a node, in source order. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = []
  for (const key in node) {
    const value: unknown = node[key as keyof AnyNode]
    // The decorator of the role is skipped, since it is also in `decorators`.
    if (typeof value === 'object' && key !== 'roleDecorator') collect(value, found)
  }
  // Most node types declare their children in source order; others are sorted here.
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
