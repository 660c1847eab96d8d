import type { GuardDeclaration, GuardedKind } from '@svc/contracts'
import type { Declaration, Module } from '../syntax/ast.ts'
import { guardOf } from '../syntax/guard-decorators.ts'
import type { Span } from '../syntax/node.ts'
import type { HirSpan } from './hir.ts'

/** A declaration that may have a guard. */
export interface GuardTarget {
  readonly kind: GuardedKind
  readonly name: string
}

/** Returns the kind and name under which a declaration is guarded; null if it cannot be. Not every component is a page. */
export function guardTarget(item: Declaration): GuardTarget | null {
  switch (item.kind) {
    case 'HttpRoute':
      return { kind: 'route', name: `${item.method.toUpperCase()} ${item.path.value}` }
    case 'Component':
      return { kind: 'page', name: item.name.text }
    case 'Function': {
      const kind = KINDS[item.role]
      return kind === undefined ? null : { kind, name: item.name.text }
    }
    default:
      return null
  }
}

const KINDS: Readonly<Partial<Record<string, GuardedKind>>> = {
  query: 'query',
  mutation: 'mutation',
  server: 'server',
  'mcp.tool': 'tool',
  'mcp.resource': 'resource'
}

/** Returns the guards of a module without errors. */
export function lowerGuards({ items }: Module, spanOf: (span: Span) => HirSpan): GuardDeclaration[] {
  return items.flatMap(item => {
    const target = guardTarget(item)
    const guard = target === null || !('decorators' in item) ? null : guardOf(item.decorators)
    if (target === null || guard === null) return []
    const { problems: _problems, ...rules } = guard
    return [{ ...target, ...rules, span: spanOf(item) }]
  })
}
