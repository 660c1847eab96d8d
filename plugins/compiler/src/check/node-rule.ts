import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'

/** A check of single syntax nodes. */
export interface NodeRule {
  readonly found: readonly Diagnostic[]
  /** Called for every node of a declaration; the declaration itself is the first. */
  node(node: AnyNode, item: Declaration): void
}

/** Calls the rules for all nodes of a module, in one walk. */
export function checkNodes({ items }: Module, rules: readonly NodeRule[]): Diagnostic[] {
  for (const item of items) {
    walk(item, node => {
      for (const rule of rules) rule.node(node, item)
      return true
    })
  }
  return rules.flatMap(({ found }) => found)
}
