import type { HirBlock, Program, ProgramIndex, ProgramTest } from '@svc/contracts'
import { readRowRules } from './check/users/row-rules.ts'
import { readUsers } from './check/users/users.ts'
import type { CheckedFile } from './compile.ts'
import { ByteOffsets } from './hir/byte-offsets.ts'
import { CodeLowering } from './hir/code.ts'
import { conditionsOf } from './hir/conditions.ts'
import { programFacts } from './hir/facts.ts'
import { lowerGuards } from './hir/guards.ts'
import { lower } from './hir/lower.ts'
import { type Conversions, ExpressionLowering, type RecordTypes } from './hir/lower-expressions.ts'
import type { Declaration, FunctionDeclaration, Index, Table } from './syntax/ast.ts'
import { requestedCapabilities } from './syntax/requested-capabilities.ts'
import { typesOf } from './types/check-module.ts'
import { tablesOf } from './types/db/db-tables.ts'
import { indexOptions } from './types/db/index-options.ts'

/** Returns a module without errors in the form that the interpreter runs. */
export function programOf({ parsed: { module, tokens }, file: { path, text }, types }: CheckedFile): Program {
  const records: RecordTypes = types?.records ?? new Map()
  const conversions: Conversions = expression => types?.conversionOf(expression) ?? null
  const bodies = new ExpressionLowering(new ByteOffsets(text), tablesOf(module), records, conversions)
  const functions = module.items.filter(item => item.kind === 'Function')
  const code = new CodeLowering(types ?? typesOf(module), new ByteOffsets(text))
  const lowered = lower(module, text, { records, conversions, code })
  const { users } = readUsers(module)
  const rules = module.items.flatMap(item => (item.kind === 'Table' ? (readRowRules(item, module).rules ?? []) : []))
  const guards = lowerGuards(module, span => bodies.span(span))
  return {
    path,
    text,
    module: lowered,
    tests: functions.flatMap(fn => testOf(fn, bodies, code)),
    constants: module.items.flatMap((item): HirBlock => {
      return item.kind === 'Const' ? [bodies.statement(item.statement)] : []
    }),
    constantCode: module.items.flatMap(item => (item.kind === 'Const' ? [code.constant(item)] : [])),
    conditions: functions.flatMap(fn =>
      conditionsOf(fn).map(({ value, ...condition }) => ({
        of: fn.name.text,
        ...condition,
        condition: bodies.expression(value),
        code: code.condition(fn, value)
      }))
    ),
    components: module.items.flatMap(item => (item.kind === 'Component' ? [item.name.text] : [])),
    indexes: module.items.flatMap(item => {
      if (item.kind === 'Table') return uniqueColumns(item, users, bodies)
      return item.kind === 'Index' ? [indexOf(item, bodies)] : []
    }),
    defaults: module.items.flatMap(item => defaultsOf(item, bodies, code)),
    guards,
    facts: programFacts(code, { guards, rules }),
    capabilities: requestedCapabilities(tokens),
    rules,
    users
  }
}

function testOf(fn: FunctionDeclaration, bodies: ExpressionLowering, code: CodeLowering): ProgramTest[] {
  const { role, roleDecorator } = fn
  if (fn.body === null || (role !== 'test' && role !== 'forall' && role !== 'fuzz')) return []
  const [argument] = roleDecorator?.args ?? []
  const title = argument?.value.kind === 'String' ? argument.value.value : (roleDecorator?.strings[0]?.value ?? null)
  const kind = role === 'test' ? 'test' : 'forall'
  const params = bodies.params(fn.params)
  const body = bodies.block(fn.body)
  return [{ name: fn.name.text, title, kind, params, body, code: code.function(fn), span: bodies.span(fn) }]
}

function indexOf(index: Index, bodies: ExpressionLowering): ProgramIndex {
  const { variant, table, name, columns } = index
  const option = indexOptions(index).find(({ problem }) => problem === null)?.value ?? null
  return {
    kind: variant,
    table: table.text,
    name: name.text,
    columns: columns.map(({ text }) => text),
    option: variant === 'btree' ? null : option,
    unique: variant === 'btree' && option === 'true',
    span: bodies.span(index)
  }
}

/** Returns an index for each column with `@unique`, and for the one with which users sign in. */
function uniqueColumns(
  { name: table, fields }: Table,
  users: Program['users'],
  bodies: ExpressionLowering
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
      span: bodies.span(field)
    }))
}

function defaultsOf(item: Declaration, bodies: ExpressionLowering, code: CodeLowering): Program['defaults'] {
  if (item.kind !== 'Type' || item.definition.form !== 'struct') return []
  return item.definition.fields.flatMap(({ name, value }) =>
    value === null
      ? []
      : [{ type: item.name.text, field: name.text, value: bodies.expression(value), code: code.value(value) }]
  )
}
