import type { Assign, Expression, Identifier } from '../../syntax/ast.ts'
import { bare } from '../../syntax/entries.ts'
import { type AnyNode, childrenOf, walk } from '../../syntax/walk.ts'

/**
 * Returns the states that code reads after it assigned them. A rendered component keeps the values of its render, so
 * such code needs separate variables.
 */
export function newestStates(body: Expression, isState: (name: string) => boolean): string[] {
  const assigned = new Map<string, number>()
  const found = new Set<string>()
  const visit = (node: AnyNode, isRepeated: boolean): void => {
    if (node.kind === 'Lambda') return
    const repeats = isRepeated || node.kind === 'While' || node.kind === 'Loop' || node.kind === 'For'
    for (const child of childrenOf(node)) visit(child, repeats)
    if (node.kind !== 'Assign') return
    const { target } = node as Assign
    const name = rootOf(target)
    if (name === null || !isState(name)) return
    if (!assigned.has(name)) assigned.set(name, node.end)
    if (isRepeated) found.add(name)
  }
  visit(body, false)
  walk(body, node => {
    if (node.kind === 'Identifier') {
      const { name, start } = node as Identifier
      const from = assigned.get(name)
      if (from !== undefined && start >= from && !isTarget(body, node)) found.add(name)
    }
    return true
  })
  // A compound assignment also reads its target.
  walk(body, node => {
    if (node.kind === 'Assign') {
      const { operator, target, start } = node as Assign
      const name = rootOf(target)
      const from = name === null ? undefined : assigned.get(name)
      const reads = operator !== '=' || bare(target).kind !== 'Identifier'
      if (name !== null && from !== undefined && start >= from && reads) found.add(name)
    }
    return true
  })
  return [...found]
}

function isTarget(body: Expression, identifier: AnyNode): boolean {
  let is = false
  walk(body, node => {
    if (node.kind === 'Assign' && bare((node as Assign).target) === identifier) is = true
    return !is
  })
  return is
}

/** Returns the variable that an assignment changes; null if there is none. */
export function rootOf(target: Expression): string | null {
  const inner = bare(target)
  if (inner.kind === 'Identifier') return inner.name
  return inner.kind === 'Member' || inner.kind === 'IndexAccess' ? rootOf(inner.object) : null
}
