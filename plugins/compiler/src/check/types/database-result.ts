import { diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import { aggregateType } from '../../types/db/aggregates.ts'
import type { DbChain, DbOperation } from '../../types/db/chain.ts'
import { expectRecords } from './expected-records.ts'
import { checkMissing } from './records.ts'
import type { Signatures } from './signatures.ts'
import { ANY, dbResult, fits, generic, INT, plain, show, UNIT, type ValueType } from './type.ts'

/** Returns the result type of a table operation. Compares argument values with their columns. */
export function databaseResult(
  { operation }: DbChain,
  infer: (expression: Expression) => ValueType,
  signatures: Signatures
): ValueType {
  const { op, args, limit, table } = operation
  const row = signatures.reader.declared(table) ?? ANY
  const columns = signatures.reader.fieldsOf(row)
  const compare = (name: string, found: ValueType | undefined, at: Expression): void => {
    const column = columns?.get(name)
    if (column === undefined || found === undefined) return
    expectRecords(at, column, signatures)
    checkColumn(name, column, found, at, signatures)
  }
  for (const { name, value } of args) {
    const found = infer(value)
    const isStored = op === 'Insert' || op === 'Update'
    // A list that is not stored is the operand of `in`.
    const isOneOf = !isStored && found.kind === 'generic' && found.name === 'List'
    if (name !== null && !isOneOf) compare(name, found, value)
    const record = bare(value)
    if (!isStored || record.kind !== 'Object' || found.kind !== 'record') continue
    for (const entry of record.entries) compare(entryKey(entry), found.fields.get(entryKey(entry)), entryValue(entry))
    if (op === 'Insert' && row.kind === 'row') checkMissing(found.fields, row.table.fields, table, value, signatures)
  }
  for (const each of [limit, operation.offset, operation.page?.size, operation.page?.cursor]) if (each) infer(each)
  switch (op) {
    case 'Insert':
    case 'Count':
      return dbResult(INT)
    case 'Get':
      return dbResult(generic('Option', included(row, columns, operation, signatures)))
    case 'Aggregate':
      return dbResult(aggregateResult(operation, columns, signatures))
    case 'Delete':
    case 'Update':
      return dbResult(UNIT)
    default:
      return dbResult(operation.page === null ? generic('List', included(row, columns, operation, signatures)) : ANY)
  }
}

/** Returns the type of a row with the rows that it refers to. */
function included(
  row: ValueType,
  columns: ReadonlyMap<string, ValueType> | null,
  { includes }: DbOperation,
  { reader }: Signatures
): ValueType {
  if (includes.length === 0 || columns === null) return row
  const references = includes.map(each => [each.name, generic('Option', reader.declared(each.table) ?? ANY)] as const)
  return { kind: 'record', fields: new Map([...columns, ...references]) }
}

function aggregateResult(
  { table, aggregation }: DbOperation,
  columns: ReadonlyMap<string, ValueType> | null,
  { tables }: Signatures
): ValueType {
  if (aggregation === null) return ANY
  const { groups, values, isScalar } = aggregation
  const types = values.map((each): [string, ValueType] => {
    const type = aggregateType(each, tables.get(table), groups !== null)
    if (type === null) return [each.name, ANY]
    const value = plain(type.scalar === 'Id' ? 'int' : type.scalar)
    return [each.name, type.isOptional ? generic('Option', value) : value]
  })
  if (isScalar) return types[0]?.[1] ?? ANY
  const keys = (groups ?? []).map((each): [string, ValueType] => [each, columns?.get(each) ?? ANY])
  const record: ValueType = { kind: 'record', fields: new Map([...keys, ...types]) }
  return groups === null ? record : generic('List', record)
}

function checkColumn(name: string, column: ValueType, found: ValueType, at: Expression, { report }: Signatures): void {
  const inner = column.kind === 'generic' && column.name === 'Option' ? (column.args[0] ?? ANY) : column
  if (fits(found, column) || fits(found, inner)) return
  report(
    diagnostic('typecheck.db.type', `the value does not match the type of the column \`${name}\``, at, {
      expectedType: show(column),
      foundType: show(found)
    })
  )
}
