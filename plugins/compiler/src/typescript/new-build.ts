import { liveQueriesOf } from '@svc/contracts'
import { ByteOffsets } from '../hir/byte-offsets.ts'
import { CodeLowering } from '../hir/code.ts'
import type { HirModule } from '../hir/hir.ts'
import type { Module } from '../syntax/ast.ts'
import { typesOf } from '../types/check-module.ts'
import type { Build } from './module.ts'
import { EmittedProgram } from './program.ts'
import { TypeScriptTypes } from './types.ts'

/** Begins the translation of a module without errors. */
export function newBuild(module: Module, source: string, hir: HirModule): Build {
  const code = new CodeLowering(typesOf(module), new ByteOffsets(source))
  return {
    program: new EmittedProgram(code, source, new Set(liveQueriesOf(hir).keys())),
    types: new TypeScriptTypes(hir),
    helpers: new Set(),
    shared: new Set()
  }
}
