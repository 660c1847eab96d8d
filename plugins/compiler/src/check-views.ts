import { type Diagnostic, diagnostic } from './diagnostics/diagnostic.ts'
import { codeOfModule } from './hir/code.ts'
import { lowerModule } from './hir/module.ts'
import { TypeTable } from './hir/type-table.ts'
import { webTreeOf } from './react/web-tree.ts'
import type { Component, Declaration, Module } from './syntax/ast.ts'
import type { Type } from './types/type.ts'
import type { TypedModule } from './types/typed-module.ts'
import { emptyValue } from './typescript/empty-value.ts'

const REMOTE: ReadonlySet<string> = new Set(['query', 'mutation', 'server'])

/**
 * Reports server responses that the views of a module without errors show, and whose types have no placeholder to show
 * until they arrive.
 */
export function checkViews(module: Module, source: string, types: TypedModule): Diagnostic[] {
  if (!mayLackPlaceholder(module, types)) return []
  const { program } = webTreeOf(
    module,
    source,
    lowerModule(codeOfModule(types, source), source, { infersResults: true })
  )
  return program.problems.flatMap(({ code, message, span }) =>
    code === 'web.no_value_yet' ? [diagnostic(code, message, span)] : []
  )
}

/** True if a response or a state has a type without a placeholder. Only then the views have to be translated. */
function mayLackPlaceholder({ items }: Module, types: TypedModule): boolean {
  const components = items.filter(item => item.kind === 'Component')
  if (components.length === 0) return false
  const table = new TypeTable()
  const isOpen = (type: Type): boolean => emptyValue(table.of(type)) === null
  const remote = remoteFunctions(items, types)
  if (remote.size === 0) return false
  return (
    [...remote].some(fn => isOpen(types.resultOf(fn))) || components.some(each => hasOpenState(each, types, isOpen))
  )
}

function hasOpenState({ members }: Component, types: TypedModule, isOpen: (type: Type) => boolean): boolean {
  return members.some(member => member.kind === 'State' && isOpen(types.memberType(member)))
}

/** Returns the functions that call the server, directly or through others. */
function remoteFunctions(items: readonly Declaration[], types: TypedModule): ReadonlySet<Declaration> {
  const functions = items.filter(item => item.kind === 'Function')
  const remote = new Set<Declaration>(functions.filter(({ role }) => REMOTE.has(role)))
  const calls = (fn: Declaration): boolean =>
    types.usesOf(fn).some(use => use.kind === 'declaration' && remote.has(use.declaration))
  for (let before = -1; before !== remote.size; ) {
    before = remote.size
    for (const fn of functions) if (fn.role === 'plain' && calls(fn)) remote.add(fn)
  }
  return remote
}
