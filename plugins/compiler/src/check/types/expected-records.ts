import type { Field } from '../../syntax/ast.ts'
import type { Call, Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { Statement } from '../../syntax/ast-statements.ts'
import { entryKey, entryValue } from '../../syntax/entries.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import type { Signatures } from './signatures.ts'
import { ANY, type ValueType } from './type.ts'

/**
 * Records the expected type of literals such as `{ title: "x" }` that omit members of the type. `expression` is the
 * value, `expected` its expected type. Names and calls are skipped, since their literals are elsewhere.
 */
export function expectRecords(expression: Expression, expected: ValueType, signatures: Signatures): void {
  if (expected.kind === 'dbResult') {
    expectRecords(expression, expected.value, signatures)
    return
  }
  switch (expression.kind) {
    case 'Paren':
      expectRecords(expression.inner, expected, signatures)
      return
    case 'Block':
      expectLast(expression.statements, expected, signatures)
      return
    case 'SideEffect':
      expectRecords(expression.body, expected, signatures)
      return
    case 'If':
      if (expression.else === null) return
      expectRecords(expression.then, expected, signatures)
      expectRecords(expression.else, expected, signatures)
      return
    case 'Match':
      for (const { body } of expression.arms) {
        if (isStatement(body)) expectLast([body], expected, signatures)
        else expectRecords(body, expected, signatures)
      }
      return
    case 'Object':
      expectRecord(expression, expected, signatures)
      return
    case 'List':
      for (const item of expression.items) expectRecords(item, argument(expected, ['List', 'Set'], 0), signatures)
      return
    case 'Tuple':
      for (const [index, item] of expression.items.entries()) {
        expectRecords(item, expected.kind === 'tuple' ? (expected.items[index] ?? ANY) : ANY, signatures)
      }
      return
    case 'For':
      expectRecords(expression.body, argument(expected, ['List'], 0), signatures)
      return
    case 'Lambda':
      if (expected.kind === 'function' && expression.result === null) {
        expectRecords(expression.body, expected.result, signatures)
      }
      return
    case 'Call':
      expectPayload(expression, expected, signatures)
  }
}

function expectLast(statements: readonly Statement[], expected: ValueType, signatures: Signatures): void {
  const last = statements.at(-1)
  if (last?.kind === 'ExpressionStatement') expectRecords(last.expression, expected, signatures)
}

/** Visits the payload of `Some`, `Ok` and `Error`; other calls check their own arguments. */
function expectPayload({ callee, args }: Call, expected: ValueType, signatures: Signatures): void {
  const [only] = args
  if (callee.kind !== 'Identifier' || only === undefined || signatures.names.has(callee.name)) return
  switch (callee.name) {
    case 'Some':
      expectRecords(only.value, argument(expected, ['Option'], 0), signatures)
      return
    case 'Ok':
      // A route declared with `to Task` may return `Ok(task)`.
      expectRecords(only.value, isNamed(expected, 'Result') ? argument(expected, ['Result'], 0) : expected, signatures)
      return
    case 'Error':
    case 'Err':
      expectRecords(only.value, argument(expected, ['Result'], 1), signatures)
  }
}

function expectRecord(record: ObjectLiteral, expected: ValueType, signatures: Signatures): void {
  const name = declaredName(expected)
  const presentKeys = new Set(record.entries.map(entryKey))
  if (
    name !== null &&
    declaredMembers(expected).some(field => hasOwnValue(field) && !presentKeys.has(field.name.text))
  ) {
    signatures.expect(record, name)
  }
  // An optional column accepts the bare value.
  const inner = isNamed(expected, 'Option') ? argument(expected, ['Option'], 0) : null
  if (inner !== null) {
    expectRecord(record, inner, signatures)
    return
  }
  const fields = signatures.reader.fieldsOf(expected)
  const others = argument(expected, ['Map'], 1)
  for (const entry of record.entries) {
    expectRecords(entryValue(entry), fields?.get(entryKey(entry)) ?? others, signatures)
  }
}

/** True if a member may be omitted. */
export function hasOwnValue({ value, type, isOptional }: Field): boolean {
  if (value !== null || isOptional) return true
  return type.kind === 'OptionalType' || (type.kind === 'NamedType' && type.path.at(-1)?.text === 'Option')
}

function declaredName(type: ValueType): string | null {
  if (type.kind === 'row') return type.table.name.text
  return type.kind === 'declared' ? type.declaration.name.text : null
}

/** Returns the members of a struct, or the columns of a table. */
export function declaredMembers(type: ValueType): readonly Field[] {
  if (type.kind === 'row') return type.table.fields
  if (type.kind !== 'declared' || type.declaration.definition.form !== 'struct') return []
  return type.declaration.definition.fields
}

function isNamed(type: ValueType, name: string): boolean {
  return type.kind === 'generic' && type.name === name
}

function argument(type: ValueType, names: readonly string[], index: number): ValueType {
  return type.kind === 'generic' && names.includes(type.name) ? (type.args[index] ?? ANY) : ANY
}
