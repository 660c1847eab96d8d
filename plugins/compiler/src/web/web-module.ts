import { basename } from 'node:path'
import type { GuardDeclaration, HirModule, HirParam, ProgramUsers } from '@svc/contracts'
import { readUsers } from '../check/users/users.ts'
import { codeOfModule } from '../hir/code.ts'
import { liveQueries } from '../hir/facts.ts'
import { lowerGuards } from '../hir/guards.ts'
import { lowerType } from '../hir/lower-types.ts'
import { lowerModule } from '../hir/module.ts'
import type { SourceFile } from '../source-file.ts'
import type { Component, Declaration, Field, Module, Param } from '../syntax/ast.ts'
import { typesOf } from '../types/check-module.ts'
import { isComponent } from '../typescript/program.ts'
import { TypeScriptTypes } from '../typescript/types.ts'

/** A module without errors: the input of a web build. */
export interface WebModule {
  readonly source: SourceFile
  readonly module: Module
  /** HIR with the inferred result types. */
  readonly hir: HirModule
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
}

export function webModule(module: Module, source: SourceFile): WebModule {
  const code = codeOfModule(typesOf(module), source.text)
  const hir = lowerModule(code, source.text, { infersResults: true })
  const name = basename(source.path).replace(/\.vox$/, '')
  const defaults = module.items.flatMap(defaultsOf)
  const live = liveQueries(code)
  const guards = lowerGuards(module, span => code.module.span(span))
  const { users } = readUsers(module)
  return { source, module, hir, types: new TypeScriptTypes(hir), defaults, guards, users, live, name }
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

/** Returns the properties of all components, by component name. */
export function componentsOf(module: Module): ReadonlyMap<string, readonly Property[]> {
  const found = new Map<string, readonly Property[]>()
  for (const item of module.items) {
    switch (item.kind) {
      case 'Component':
      case 'Fragment':
        found.set(item.name.text, item.params.map(paramProperty))
        break
      case 'Function':
        if (isComponent(item)) found.set(item.name.text, item.params.map(paramProperty))
        break
      case 'Island':
      case 'V0':
        found.set(item.name.text, item.props.map(fieldProperty))
        break
      case 'Form':
        found.set(item.name.text, [])
    }
  }
  return found
}

/** Returns the module that exports a component; null for other names. */
export function componentModule(module: Module, name: string): string | null {
  const imported = itemsOf(module, 'Import')
    .flatMap(({ items }) => items)
    .find(item => item.kind === 'ReactImport' && item.name.text === name)
  if (imported?.kind === 'ReactImport') return imported.source.value
  if (!componentsOf(module).has(name)) return null
  return itemsOf(module, 'Form').some(form => form.name.text === name) ? './forms' : `./${name}`
}

/** A property of a component. */
export interface Property {
  readonly name: string
  readonly type: HirParam['type_ann']
  readonly isOptional: boolean
}

function paramProperty({ name, type, value }: Component['params'][number] | Param): Property {
  return { name: name.text, type: type === null ? null : lowerType(type), isOptional: value !== null }
}

function fieldProperty({ name, type, isOptional }: Field): Property {
  return { name: name.text, type: lowerType(type), isOptional }
}
