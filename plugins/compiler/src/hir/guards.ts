import type { GuardDeclaration, GuardedKind, HirSpan } from '@svc/contracts'
import type { Declaration, Module } from '../syntax/ast.ts'
import type { RouteEntry } from '../syntax/ast-web.ts'
import { guardOf } from '../syntax/guard-decorators.ts'
import type { Span } from '../syntax/node.ts'
import { joinedPath } from '../syntax/page-path.ts'

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

/** Returns the paths of pages by component. */
function pagePaths(items: readonly Declaration[]): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  const add = ({ path, component, children }: RouteEntry, base: string): void => {
    const whole = joinedPath(base, path.value)
    const known = paths.get(component.text) ?? []
    paths.set(component.text, [...known, whole])
    for (const child of children) add(child, whole)
  }
  for (const item of items) {
    if (item.kind !== 'Routes') continue
    for (const entry of item.entries) if (entry.kind === 'RouteEntry') add(entry, '')
  }
  return paths
}

/** Returns the guards of a module without errors. */
export function lowerGuards({ items }: Module, spanOf: (span: Span) => HirSpan): GuardDeclaration[] {
  const pages = pagePaths(items)
  return items.flatMap(item => {
    const target = guardTarget(item)
    const guard = target === null || !('decorators' in item) ? null : guardOf(item.decorators)
    if (target === null || guard === null) return []
    const { problems: _problems, ...rules } = guard
    const paths = target.kind === 'page' ? (pages.get(target.name) ?? []) : []
    return [{ ...target, paths, ...rules, span: spanOf(item) }]
  })
}
