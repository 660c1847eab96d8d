import { type Diagnostic, diagnostic } from './diagnostics/diagnostic.ts'
import { knownTypes, lower } from './hir/lower.ts'
import { webTreeOf } from './react/web-tree.ts'
import type { Module } from './syntax/ast.ts'
import type { TypedModule } from './types/typed-module.ts'

const REMOTE: ReadonlySet<string> = new Set(['query', 'mutation', 'server'])

/**
 * Reports server responses that the views of a module without errors show, and whose types have no placeholder to show
 * until they arrive.
 */
export function checkViews(module: Module, source: string, types: TypedModule): Diagnostic[] {
  const hasViews = module.items.some(item => item.kind === 'Component')
  const isRemote = module.items.some(item => item.kind === 'Function' && REMOTE.has(item.role))
  if (!hasViews || !isRemote) return []
  const { program } = webTreeOf(module, source, lower(module, source, knownTypes(types)))
  return program.problems.flatMap(({ code, message, span }) =>
    code === 'web.no_value_yet' ? [diagnostic(code, message, span)] : []
  )
}
