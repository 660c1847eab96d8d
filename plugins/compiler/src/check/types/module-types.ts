import { pathParameters } from '@svc/contracts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Component, Declaration, Module, Param } from '../../syntax/ast.ts'
import type { Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { Type } from '../../syntax/ast-types.ts'
import type { DbTables } from '../../types/db/db-tables.ts'
import type { ModuleNames } from '../names/module-names.ts'
import { BodyTypes } from './body-types.ts'
import { declaredMembers, expectRecords } from './expected-records.ts'
import { TypeReader } from './read-type.ts'
import type { Signatures } from './signatures.ts'
import { ANY, dbResult, type ValueType } from './type.ts'

/** Maximum depth of nested inferences, in syntax levels. Beyond it, the result type of a callee is not inferred. */
const MAX_DEPTH = 300

/** Types of a whole module. Each body is inferred once: when its result type is first requested, or in source order. */
export class ModuleTypes implements Signatures {
  readonly names: ModuleNames
  readonly tables: DbTables
  readonly reader: TypeReader
  readonly found: Diagnostic[] = []
  /** Record literals without a type name that omit members with a default, with the name of their type. */
  readonly records = new Map<ObjectLiteral, string>()
  readonly #results = new Map<Declaration, ValueType>()
  readonly observe: Signatures['observe']
  depth = 0

  constructor(module: Module, names: ModuleNames, tables: DbTables, observe: Signatures['observe'] = null) {
    this.observe = observe
    this.names = names
    this.tables = tables
    this.reader = new TypeReader(module)
    for (const item of module.items) if (item.kind !== 'ScriptStatement') this.#read(item)
    const script = new BodyTypes(this)
    for (const item of module.items) if (item.kind === 'ScriptStatement') script.statement(item.statement)
  }

  report = (diagnostic: Diagnostic): void => {
    this.found.push(diagnostic)
  }

  expect = (record: ObjectLiteral, type: string): void => {
    this.records.set(record, type)
  }

  resultOf(declaration: Declaration): ValueType {
    if ('result' in declaration && declaration.result !== null) return this.reader.read(declaration.result)
    const known = this.#results.get(declaration)
    if (known !== undefined) return known
    if (this.depth > MAX_DEPTH) return ANY
    this.#read(declaration)
    return this.#results.get(declaration) ?? ANY
  }

  #read(item: Declaration): void {
    if (this.#results.has(item)) return
    // A recursive call has any type, since its result type is not known yet.
    this.#results.set(item, ANY)
    this.#results.set(item, this.#bodies(item))
  }

  #bodies(item: Declaration): ValueType {
    switch (item.kind) {
      case 'Function':
        return item.body === null ? ANY : this.#function(item.params, item.result, item.body)
      case 'Workflow':
      case 'Activity':
        return this.#function(item.params, item.result, item.body)
      case 'HttpRoute': {
        const body = new BodyTypes(this)
        for (const name of pathParameters(item.path.value)) body.bind(name, ANY)
        body.params(item.params ?? [])
        // A route may return a Result instead; its error becomes a status.
        return body.body(item.body, item.result === null ? null : dbResult(this.reader.read(item.result)))
      }
      case 'Type':
      case 'Table':
        this.#defaults(declaredMembers(this.reader.declared(item.name.text) ?? ANY))
        return ANY
      case 'Actor':
      case 'Agent':
        for (const member of item.members) {
          if (member.kind === 'StateField') this.#defaults([member])
          if (member.kind !== 'Handler') continue
          const body = new BodyTypes(this)
          for (const field of item.members) {
            if (field.kind === 'StateField') body.bind(field.name.text, this.reader.read(field.type))
          }
          body.params(member.params)
          body.body(member.body, member.result === null ? null : this.reader.read(member.result))
        }
        return ANY
      case 'Component':
        this.#component(item)
        return ANY
      case 'Fragment':
        return this.#function(item.params, null, item.body)
      case 'Const': {
        const { statement } = item
        if (statement.kind !== 'Let') return ANY
        const type = new BodyTypes(this).declared(
          statement.value,
          statement.type,
          'typecheck.let_mismatch',
          'the value'
        )
        return statement.pattern.kind === 'BindingPattern' ? type : ANY
      }
      default:
        return ANY
    }
  }

  #defaults(fields: readonly { readonly type: Type | null; readonly value: Expression | null }[]): void {
    for (const { type, value } of fields) if (value !== null) expectRecords(value, this.reader.read(type), this)
  }

  #function(params: readonly Param[], result: Type | null, body: Expression): ValueType {
    const types = new BodyTypes(this)
    types.params(params)
    return types.body(body, result === null ? null : this.reader.read(result))
  }

  #component({ params, members }: Component): void {
    const types = new BodyTypes(this)
    types.params(params)
    // Members may use members that are declared after them.
    for (const member of members) {
      const isValue = member.kind === 'State' || member.kind === 'Derived'
      if (isValue) types.bind(member.name.text, this.reader.read(member.type))
    }
    for (const member of members) {
      switch (member.kind) {
        case 'State':
        case 'Derived': {
          const code = member.kind === 'State' ? 'typecheck.reactive.state' : 'typecheck.reactive.derived'
          const type = types.declared(member.value, member.type, code, `\`${member.name.text}\``)
          types.bind(member.name.text, member.type === null && member.kind === 'State' ? ANY : type)
          break
        }
        case 'Effect':
        case 'Lifecycle':
          types.infer(member.body)
          break
        case 'View':
          types.infer(member.root)
          break
        default:
          types.statement(member)
      }
    }
  }
}
