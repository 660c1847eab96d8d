import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'

/** A check of single syntax nodes. */
export interface NodeRule {
  /** Kinds of the nodes that the rule reads; null for all. */
  readonly kinds: readonly string[] | null
  readonly found: readonly Diagnostic[]
  /** Called for the nodes of a declaration in source order; the declaration itself is the first. */
  node(node: AnyNode, item: Declaration): void
}

/** Calls the rules for all nodes of a module, in one walk. */
export function checkNodes({ items }: Module, rules: readonly NodeRule[]): Diagnostic[] {
  const byKind = new Map<string, readonly NodeRule[]>()
  const rulesFor = (kind: string): readonly NodeRule[] => {
    const found = rules.filter(({ kinds }) => kinds === null || kinds.includes(kind))
    byKind.set(kind, found)
    return found
  }
  for (const item of items) {
    walk(item, node => {
      for (const rule of byKind.get(node.kind) ?? rulesFor(node.kind)) rule.node(node, item)
      return true
    })
  }
  return rules.flatMap(({ found }) => found)
}
