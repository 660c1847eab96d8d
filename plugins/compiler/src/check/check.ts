import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import { checkActivities } from './activities.ts'
import { checkDeprecations } from './deprecations.ts'
import { checkImports } from './imports.ts'
import { checkResources } from './mcp-resources.ts'
import { checkNames } from './names/check-names.ts'
import { checkRoutes } from './routes.ts'
import { checkIndexes, checkTables } from './tables.ts'
import { checkWords } from './words.ts'

export interface CheckOptions {
  /** Leaves out warnings about hooks of React in components and islands that are functions. */
  readonly suppressHookLints: boolean
}

/** What is wrong with a module whose syntax is right, in the order of the source. */
export function check(module: Module, options: CheckOptions): Diagnostic[] {
  return sortDiagnostics([
    ...checkTables(module),
    ...checkIndexes(module),
    ...checkRoutes(module),
    ...checkResources(module),
    ...checkActivities(module),
    ...checkImports(module),
    ...checkDeprecations(module),
    ...checkNames(module),
    ...checkWords(module, options.suppressHookLints)
  ])
}
