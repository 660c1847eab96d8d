import type { HirModule } from '@svc/contracts'
import type { Module } from '../syntax/ast.ts'
import { newBuild } from '../typescript/new-build.ts'
import { buildWebTree } from '../web-ir/build.ts'
import type { WebTree } from '../web-ir/tree.ts'
import { REACT_VIEWS } from './views.ts'

/** Translates the components of a module without errors. */
export function webTreeOf(module: Module, source: string, hir: HirModule): WebTree {
  return buildWebTree(newBuild(module, source, hir), REACT_VIEWS)
}

/** Like {@link webTreeOf}, for the web IR, whose texts show the arithmetic of ints as it is written. */
export function documentTreeOf(module: Module, source: string, hir: HirModule): WebTree {
  return buildWebTree(newBuild(module, source, hir, true), REACT_VIEWS)
}
