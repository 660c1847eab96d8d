import type { Program, ProgramIndex, ProgramTest } from '@svc/contracts'
import { readRowRules } from './check/users/row-rules.ts'
import { readUsers } from './check/users/users.ts'
import type { CheckedFile } from './compile.ts'
import { type CodeLowering, codeOfModule } from './hir/code.ts'
import { conditionsOf } from './hir/conditions.ts'
import { programFacts } from './hir/facts.ts'
import { lowerGuards } from './hir/guards.ts'
import { lowerModule, lowerParams } from './hir/module.ts'
import type { Declaration, FunctionDeclaration, Index, Table } from './syntax/ast.ts'
import { requestedCapabilities } from './syntax/requested-capabilities.ts'
import { typesOf } from './types/check-module.ts'
import { indexOptions } from './types/db/index-options.ts'

/** Returns a module without errors in the form that the interpreter runs. */
export function programOf({ parsed: { module, tokens }, file: { path, text }, types }: CheckedFile): Program {
  const functions = module.items.filter(item => item.kind === 'Function')
  const code = codeOfModule(types ?? typesOf(module), text)
  const { users } = readUsers(module)
  const rules = module.items.flatMap(item => (item.kind === 'Table' ? (readRowRules(item, module).rules ?? []) : []))
  const guards = lowerGuards(module, span => code.module.span(span))
  return {
    path,
    text,
    module: lowerModule(code, text),
    tests: functions.flatMap(fn => testOf(fn, code)),
    constants: module.items.flatMap(item => (item.kind === 'Const' ? [code.constant(item)] : [])),
    conditions: functions.flatMap(fn =>
      conditionsOf(fn).map(condition => ({
        of: fn.name.text,
        kind: condition.kind,
        message: condition.message,
        code: code.condition(fn, condition)
      }))
    ),
    components: module.items.flatMap(item => (item.kind === 'Component' ? [item.name.text] : [])),
    indexes: module.items.flatMap(item => {
      if (item.kind === 'Table') return uniqueColumns(item, users, code)
      return item.kind === 'Index' ? [indexOf(item, code)] : []
    }),
    defaults: module.items.flatMap(item => defaultsOf(item, code)),
    guards,
    facts: programFacts(code, { guards, rules, users }),
    capabilities: requestedCapabilities(tokens),
    rules,
    users
  }
}

function testOf(fn: FunctionDeclaration, code: CodeLowering): ProgramTest[] {
  const { role, roleDecorator } = fn
  if (fn.body === null || (role !== 'test' && role !== 'forall' && role !== 'fuzz')) return []
  const [argument] = roleDecorator?.args ?? []
  const title = argument?.value.kind === 'String' ? argument.value.value : (roleDecorator?.strings[0]?.value ?? null)
  const kind = role === 'test' ? 'test' : 'forall'
  const params = lowerParams(fn.params, code.module)
  const span = code.module.span(fn)
  return [{ name: fn.name.text, title, kind, params, code: code.function(fn), span }]
}

function indexOf(index: Index, { module }: CodeLowering): ProgramIndex {
  const { variant, table, name, columns } = index
  const option = indexOptions(index).find(({ problem }) => problem === null)?.value ?? null
  return {
    kind: variant,
    table: table.text,
    name: name.text,
    columns: columns.map(({ text }) => text),
    option: variant === 'btree' ? null : option,
    unique: variant === 'btree' && option === 'true',
    span: module.span(index)
  }
}

/** Returns an index for each column with `@unique`, and for the one with which users sign in. */
function uniqueColumns(
  { name: table, fields }: Table,
  users: Program['users'],
  { module }: CodeLowering
): ProgramIndex[] {
  const identity = users?.table === table.text ? users.identity : null
  return fields
    .filter(({ name, decorators }) => name.text === identity || decorators.some(each => each.name.text === 'unique'))
    .map(({ name, ...field }) => ({
      kind: 'btree',
      table: table.text,
      name: `unique_${name.text}`,
      columns: [name.text],
      option: null,
      unique: true,
      span: module.span(field)
    }))
}

function defaultsOf(item: Declaration, code: CodeLowering): Program['defaults'] {
  if (item.kind !== 'Type' || item.definition.form !== 'struct') return []
  return item.definition.fields.flatMap(({ name, value }) =>
    value === null ? [] : [{ type: item.name.text, field: name.text, code: code.value(value) }]
  )
}
