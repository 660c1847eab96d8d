import { spellingFix } from '../diagnostics/diagnostic.ts'
import type { Call, Expression, Identifier, Member } from '../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { nearName } from '../syntax/near-name.ts'
import { BUILTIN_DEFS, INT, id, list, OPTION, option, PAGE, STR, UNIT } from './builtin-types.ts'
import type { Context, Inference, Why } from './context.ts'
import { coerce, conversionTo, fieldTypeOf, reportMismatch } from './conversions.ts'
import { aggregateType } from './db/aggregates.ts'
import { DB_HEADS, type DbChain, type DbOperation, isDbMember, readDbChain, tableOf } from './db/chain.ts'
import { addDefaultUses, addDefaultUsesIn } from './default-uses.ts'
import { reportMissing } from './records.ts'
import { nearest, reportDeprecated } from './resolve.ts'
import { show } from './show.ts'
import { ANY, answer, ERROR, type FieldType, type NamedType, named, record, resolved, type Type } from './type.ts'

/** Words for what an operation does, for messages about functions that may only read. */
const WRITES: Readonly<Record<string, string>> = {
  Insert: 'inserts into',
  Delete: 'deletes from',
  Update: 'updates'
}

/** Finds the type of an operation on a table or on `db`; null for other calls. */
export function inferDatabase(inference: Inference, call: Call): Type | null {
  const { callee } = call
  if (callee.kind !== 'Member') return null
  const { object, property } = callee
  const { context } = inference
  if (object.kind === 'Identifier' && object.name === 'db' && property.text === 'query')
    return rawQuery(inference, call)
  const chain = readDbChain(call, context.tables)
  if (chain !== null) {
    context.chains.set(call, chain)
    return inferChain(inference, chain, call)
  }
  if (!isDbMember(object) || DB_HEADS.includes(property.text)) return null
  for (const { value } of call.args) inference.infer(value)
  if (checkTable(context, object)) unknownMethod(context, callee)
  return ERROR
}

/** Reports `db.Table` that is used as a value. */
export function inferTable(context: Context, node: Member): Type {
  if (!checkTable(context, node)) return ERROR
  context.report('typecheck.db.modifier', `\`db.${node.property.text}\` is not a value`, node, {
    suggestions: [`call one of ${DB_HEADS.map(head => `\`${head}\``).join(', ')}`]
  })
  return ERROR
}

/** Reports an undeclared table; true if the table is declared. */
function checkTable(context: Context, expression: Expression): boolean {
  const table = tableOf(expression)
  if (table === null) return true
  const entry = context.names.get(table.text)
  if (entry !== undefined) reportDeprecated(context, entry, table)
  if (context.tables.has(table.text)) return true
  const near = nearest(context, table.text, () => [...context.tables.keys()])
  const other = near ?? [...context.tables.keys()].find(name => name.toLowerCase() === table.text.toLowerCase())
  context.report('typecheck.db.unknown_table', `there is no table \`${table.text}\``, table, {
    suggestions: [`declare it: \`@table type ${table.text} { … }\``],
    ...spellingFix(other, table)
  })
  return false
}

function unknownMethod(context: Context, { property }: Member): void {
  const near = nearName(property.text, DB_HEADS)
  context.report('typecheck.unknown_method', `a table has no method \`${property.text}\``, property, {
    suggestions: [`tables have ${DB_HEADS.map(head => `\`${head}\``).join(', ')}`],
    ...spellingFix(near, property)
  })
}

function rawQuery(inference: Inference, call: Call): Type {
  const { context } = inference
  const [first, ...rest] = call.args
  const table = first === undefined ? undefined : bare(first.value)
  if (table?.kind === 'Identifier' && context.tables.has(table.name)) {
    context.report('typecheck.db.deprecated_query', `\`db.query(${table.name})\` is no longer supported`, call, {
      fixes: [{ label: `write db.${table.name}.all()`, span: call, replacement: `db.${table.name}.all()` }]
    })
    for (const { value } of rest) inference.infer(value)
    return ERROR
  }
  context.addUse({ kind: 'db', node: call, call, table: '', access: 'raw', action: 'runs SQL' })
  reportRaw(context, call, 'warning')
  if (first !== undefined)
    inference.check(first.value, STR, { code: 'typecheck.arg_mismatch', message: '`db.query` takes SQL as a `str`' })
  for (const { value } of rest) inference.check(value, ANY, VALUE)
  return answer(list(ANY))
}

const VALUE: Why = { code: 'typecheck.arg_mismatch', message: 'the parameters of SQL are a list' }

function reportRaw(context: Context, call: Call, severity: 'error' | 'warning'): void {
  context.report('lint.db_unsafe_query', 'raw SQL is neither checked nor portable', call, {
    severity,
    suggestions: [
      severity === 'error'
        ? 'write `filter`, `where`, `all` or `get`, or `db.query(sql, [parameters])` if only SQL can express it'
        : 'write `filter`, `where`, `all` or `get`'
    ]
  })
}

function inferChain(inference: Inference, chain: DbChain, call: Call): Type {
  const { context } = inference
  const { operation, problems } = chain
  context.diagnostics.push(...problems)
  const first = chain.calls.at(-1)
  if (first?.callee.kind === 'Member') checkTable(context, first.callee.object)
  const { op, table } = operation
  if (op === 'UnsafeQueryRawClause') reportRaw(context, call, 'error')
  const verb = WRITES[op]
  const isRaw = op === 'UnsafeQueryRawClause'
  const action = isRaw ? `runs SQL on \`${table}\`` : verb === undefined ? `reads \`${table}\`` : `${verb} \`${table}\``
  const access = isRaw ? 'raw' : verb === undefined ? 'read' : 'write'
  context.addUse({ kind: 'db', node: call, call, table, access, action })
  const def = context.declarations.def(table)
  const row = def?.kind === 'row' ? (named(def) as NamedType) : null
  // A stored value may lack members that its type has got since.
  if (row !== null) addDefaultUsesIn(context, call, row)
  checkArguments(inference, chain, row)
  for (const each of [operation.limit, operation.offset, operation.page?.size]) {
    if (each) inference.check(each, INT, { code: 'typecheck.arg_mismatch', message: 'the number of rows is an `int`' })
  }
  if (operation.page?.cursor) {
    const message = 'the cursor is the `next` of another page'
    inference.check(operation.page.cursor, option(STR), {
      code: 'typecheck.arg_mismatch',
      message,
      wrapsSome: 'stored'
    })
  }
  return answer(resultOf(context, operation, row))
}

function checkArguments(inference: Inference, { operation, head }: DbChain, row: NamedType | null): void {
  const { op, args } = operation
  const isStored = op === 'Insert' || op === 'Update'
  const isKeyed = op === 'Get' || op === 'Delete' || op === 'Update'
  const named = new Map<string, Expression>()
  for (const [index, { name, value, isOneOf = false }] of args.entries()) {
    if (row === null) inference.infer(value)
    else if (name !== null) {
      named.set(name, value)
      checkColumn(inference, row, name, value, isOneOf)
    } else if (isSearch(head.text, value)) inference.infer(value)
    else if (op === 'Get' && index === 0) checkKey(inference, row, value)
    else if (isKeyed && index === 0) inference.check(value, id(row), columnWhy('_id'))
    else if (isStored) storeRecord(inference, row, value, op === 'Insert')
    else inference.infer(value)
  }
  const [first] = args
  if (row !== null && op === 'Insert' && named.size > 0 && first !== undefined) {
    checkMissing(inference.context, row, named, first.value)
  }
}

/** Compares the key of a row that is read. A text fails only when it runs: programs of other implementations pass one. */
function checkKey(inference: Inference, row: NamedType, value: Expression): void {
  const { context } = inference
  const [found, expected, why] = [inference.infer(value), id(row), columnWhy('_id')]
  const isText = resolved(found) === STR && bare(value).kind !== 'String'
  if (isText) reportMismatch(context, value, STR, expected, why, 'warning')
  else coerce(context, value, found, expected, why)
}

/** True for `find` with a condition, which the chain reported. */
function isSearch(head: string, value: Expression): boolean {
  const { kind } = bare(value)
  return head === 'find' && (kind === 'Object' || kind === 'Lambda')
}

/** Compares a value, or the elements of a list, with a column. */
function checkColumn(inference: Inference, row: NamedType, name: string, value: Expression, isOneOf: boolean): void {
  const field = row.def.fields?.get(name)
  if (field === undefined) {
    inference.infer(value)
    return
  }
  const column = fieldTypeOf(row, field)
  inference.check(value, isOneOf ? list(valueIn(column)) : column, columnWhy(name))
}

/** Returns the type of the values of a column that may be empty. */
function valueIn(column: Type): Type {
  const inner = resolved(column)
  return inner.kind === 'named' && inner.def === OPTION ? (inner.args[0] ?? ANY) : inner
}

function columnWhy(name: string): Why {
  const message = `the value does not match the type of the column \`${name}\``
  return { code: 'typecheck.db.type', message, wrapsSome: 'stored' }
}

/** Compares a record with the columns of a table: all of them, or for an update those that it names. */
function storeRecord(inference: Inference, row: NamedType, value: Expression, isWhole: boolean): void {
  const { context } = inference
  const literal = bare(value)
  if (literal.kind === 'Object') {
    const fields = new Map<string, Type>()
    for (const entry of literal.entries) {
      const key = entryKey(entry)
      const inner = entryValue(entry)
      const field = row.def.fields?.get(key)
      // The chain reported a column that does not exist.
      fields.set(
        key,
        field === undefined ? inference.infer(inner) : inference.check(inner, fieldTypeOf(row, field), columnWhy(key))
      )
    }
    context.record(literal, record(fields))
    if (isWhole) {
      checkMissing(context, row, fields, value)
      const isShort = [...(row.def.fields?.values() ?? [])].some(
        each => each.isOptional && each.field !== null && !fields.has(each.name)
      )
      if (isShort) context.records.set(literal, row.def.name)
    }
    return
  }
  const found = resolved(inference.infer(value))
  if (found.kind === 'record') {
    for (const [key, type] of found.fields) {
      const field = row.def.fields?.get(key)
      if (field === undefined) {
        context.report('typecheck.db.unknown_field', `the table \`${row.def.name}\` has no column \`${key}\``, value)
      } else compare(context, value, type, fieldTypeOf(row, field), key)
    }
    if (isWhole) checkMissing(context, row, found.fields, value)
    return
  }
  if (found.kind === 'any' || found.kind === 'error' || found.kind === 'var') return
  if (found.kind === 'named' && (found.def === row.def || isJson(found.def.name))) return
  if (found.kind === 'named' && found.def.kind === 'struct') {
    for (const field of found.def.fields?.values() ?? []) {
      const column = row.def.fields?.get(field.name)
      if (column !== undefined) compare(context, value, fieldTypeOf(found, field), fieldTypeOf(row, column), field.name)
    }
    if (isWhole) checkMissing(context, row, found.def.fields ?? new Map(), value)
    return
  }
  const name = nameInBlock(value)
  const written = `{ ${name}: ${name} }`
  context.report('typecheck.db.type', `\`${row.def.name}\` takes a record with its columns`, value, {
    expectedType: row.def.name,
    foundType: show(found),
    ...(name === null
      ? {}
      : {
          suggestions: [`\`{ ${name} }\` is a block with the value of \`${name}\``],
          fixes: [{ label: `write ${written}`, span: value, replacement: written }]
        })
  })
}

/** Returns the name in `{ name }`; null for another expression. */
function nameInBlock(value: Expression): string | null {
  const [only, ...rest] = value.kind === 'Block' ? value.statements : []
  const isName = only?.kind === 'ExpressionStatement' && only.expression.kind === 'Identifier' && rest.length === 0
  return isName ? (only.expression as Identifier).name : null
}

/** Compares a member of a record that is no literal with its column. */
function compare(context: Context, at: Expression, found: Type, column: Type, name: string): void {
  const [value, target] = [resolved(found), resolved(column)]
  if (conversionTo(value, target, null, true) === false) reportMismatch(context, at, value, target, columnWhy(name))
}

function isJson(name: string): boolean {
  return name === 'Json' || name === 'JsonBody'
}

function checkMissing(context: Context, row: NamedType, present: ReadonlyMap<string, unknown>, at: Expression): void {
  const omitted = [...(row.def.fields?.values() ?? [])].filter(each => !present.has(each.name))
  addDefaultUses(context, at, row.def, omitted)
  const missing = omitted.filter(each => !each.isOptional)
  if (missing.length > 0) reportMissing(context, missing, row.def.name, at, 'warning')
}

function resultOf(context: Context, operation: DbOperation, row: NamedType | null): Type {
  switch (operation.op) {
    case 'Insert':
      return row === null ? INT : id(row)
    case 'Count':
      return INT
    case 'Get':
      return option(included(context, operation, row))
    case 'Aggregate':
      return aggregates(context, operation, row)
    case 'Delete':
    case 'Update':
      return UNIT
    default: {
      const item = included(context, operation, row)
      return operation.page === null ? list(item) : named(PAGE, [item])
    }
  }
}

/** Returns the type of a row with the rows that it refers to. */
function included(context: Context, { includes, projection }: DbOperation, table: NamedType | null): Type {
  if (table === null) return ERROR
  const row = projection === null ? table : selectedRow(table, projection)
  if (includes.length === 0) return row
  const fields = new Map<string, Type>()
  for (const [name, field] of row.def.fields ?? []) fields.set(name, fieldTypeOf(row, field))
  for (const { name, table } of includes) {
    const def = context.declarations.def(table)
    fields.set(name, option(def?.kind === 'row' ? named(def) : ERROR))
  }
  return record(fields)
}

/** Returns the type of a row that has only some columns. Others are None if they are optional, and missing if not. */
function selectedRow({ def }: NamedType, columns: readonly string[]): NamedType {
  const isThere = ({ name, type }: FieldType): boolean => {
    const inner = resolved(type)
    return name === '_id' || columns.includes(name) || (inner.kind === 'named' && inner.def === OPTION)
  }
  const fields = new Map([...(def.fields ?? [])].filter(([, field]) => isThere(field)))
  return named({ ...def, fields, base: def }) as NamedType
}

function aggregates(context: Context, { table, aggregation }: DbOperation, row: NamedType | null): Type {
  if (aggregation === null) return ERROR
  const { groups, values, isScalar } = aggregation
  const types = values.map((each): [string, Type] => {
    const type = aggregateType(each, context.tables.get(table), groups !== null)
    const def = type === null ? undefined : BUILTIN_DEFS.get(type.scalar === 'Id' ? 'int' : type.scalar)
    if (type === null || def === undefined) return [each.name, ERROR]
    return [each.name, type.isOptional ? option(named(def)) : named(def)]
  })
  if (isScalar) return types[0]?.[1] ?? ERROR
  const keys = (groups ?? []).map((each): [string, Type] => {
    const field = row?.def.fields?.get(each)
    return [each, field === undefined || row === null ? ERROR : fieldTypeOf(row, field)]
  })
  // A group by an unknown column was reported.
  if (keys.some(([, type]) => type === ERROR)) return ERROR
  const group = record(new Map([...keys, ...types]))
  return groups === null ? group : list(group)
}
