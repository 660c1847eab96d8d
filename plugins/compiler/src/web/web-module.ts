import { basename } from 'node:path'
import type { GuardDeclaration, Hir, HirModule, ProgramUsers } from '@svc/contracts'
import { readUsers } from '../check/users/users.ts'
import { SourceOffsets } from '../hir/byte-offsets.ts'
import { codeOfModule } from '../hir/code.ts'
import { liveQueries } from '../hir/facts.ts'
import { lowerGuards } from '../hir/guards.ts'
import { lowerModule } from '../hir/module.ts'
import { pagesOf } from '../hir/pages.ts'
import type { SourceFile } from '../source-file.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import { typesOf } from '../types/check-module.ts'
import { TypeScriptTypes } from '../typescript/types.ts'

/** A module without errors: the input of a web build. */
export interface WebModule {
  readonly source: SourceFile
  readonly module: Module
  /** HIR with the inferred result types. */
  readonly hir: HirModule
  readonly pages: Hir.Pages
  readonly types: TypeScriptTypes
  /** Members of structs that have a default. */
  readonly defaults: readonly { readonly type: string; readonly field: string }[]
  readonly guards: readonly GuardDeclaration[]
  /** Users of the program; null if it has none. */
  readonly users: ProgramUsers | null
  /** Names of the live queries. */
  readonly live: ReadonlySet<string>
  /** Name of the source file, without folder and extension. */
  readonly name: string
  /** Returns the offsets in the text of a node of the HIR. */
  readonly place: (span: Hir.Span) => Hir.Span
}

export function webModule(module: Module, source: SourceFile): WebModule {
  const code = codeOfModule(typesOf(module), source.text)
  const hir = lowerModule(code, source.text, { infersResults: true })
  const name = basename(source.path).replace(/\.vox$/, '')
  const defaults = module.items.flatMap(defaultsOf)
  const live = liveQueries(code)
  const guards = lowerGuards(module, span => code.module.span(span))
  const { users } = readUsers(module)
  const offsets = new SourceOffsets(source.text)
  const place = (span: Hir.Span): Hir.Span => offsets.span(span)
  const [types, pages] = [new TypeScriptTypes(hir), pagesOf(code)]
  return { source, module, hir, pages, types, defaults, guards, users, live, name, place }
}

function defaultsOf(item: Declaration): WebModule['defaults'] {
  if (item.kind !== 'Type' || item.definition.form !== 'struct') return []
  const { fields } = item.definition
  return fields.flatMap(({ name, value }) => (value === null ? [] : [{ type: item.name.text, field: name.text }]))
}

/** Returns the declarations of one kind, in source order. */
export function itemsOf<K extends Declaration['kind']>(module: Module, kind: K): Extract<Declaration, { kind: K }>[] {
  return module.items.filter((item): item is Extract<Declaration, { kind: K }> => item.kind === kind)
}

/** Returns the views of one kind, in source order. */
export function viewsOf<K extends Hir.View['kind']>({ views }: Hir.Pages, kind: K): Extract<Hir.View, { kind: K }>[] {
  return views.filter((view): view is Extract<Hir.View, { kind: K }> => view.kind === kind)
}

/** Returns the view that a name is; undefined for other names. The last declaration counts. */
export function viewNamed({ views }: Hir.Pages, name: string): Hir.View | undefined {
  return views.findLast(view => view.name.name === name)
}

/** Returns the module that exports a component; null for other names. */
export function componentModule(pages: Hir.Pages, name: string): string | null {
  const imported = pages.imports.find(each => each.kind === 'component' && each.name.name === name)
  if (imported !== undefined) return imported.source.name
  const view = viewNamed(pages, name)
  if (view === undefined) return null
  return view.kind === 'Form' ? './forms' : `./${name}`
}
