import type { HirModule } from '@svc/contracts'
import { codeOfModule } from '../hir/code.ts'
import { liveQueries } from '../hir/facts.ts'
import type { Module } from '../syntax/ast.ts'
import { typesOf } from '../types/check-module.ts'
import type { Build } from './module.ts'
import { EmittedProgram } from './program.ts'
import { TypeScriptTypes } from './types.ts'

/** Begins the translation of a module without errors. `isDocument` is that of the build. */
export function newBuild(module: Module, source: string, hir: HirModule, isDocument = false): Build {
  const code = codeOfModule(typesOf(module), source)
  return {
    program: new EmittedProgram(code, source, liveQueries(code)),
    isDocument,
    types: new TypeScriptTypes(hir),
    helpers: new Set(),
    shared: new Set()
  }
}
