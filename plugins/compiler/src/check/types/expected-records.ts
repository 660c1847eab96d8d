import { entryKey, entryValue } from '../../hir/db/predicate.ts'
import type { Field } from '../../syntax/ast.ts'
import type { Call, Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { Statement } from '../../syntax/ast-statements.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import type { Signatures } from './signatures.ts'
import { ANY, type ValueType } from './type.ts'

/**
 * Records the expected type of literals such as `{ title: "x" }` that omit members of the type. `expression` is the
 * value, `wanted` its expected type. Names and calls are skipped, since their literals are elsewhere.
 */
export function expectRecords(expression: Expression, wanted: ValueType, signatures: Signatures): void {
  if (wanted.kind === 'answer') {
    expectRecords(expression, wanted.value, signatures)
    return
  }
  switch (expression.kind) {
    case 'Paren':
      expectRecords(expression.inner, wanted, signatures)
      return
    case 'Block':
      expectLast(expression.statements, wanted, signatures)
      return
    case 'SideEffect':
      expectRecords(expression.body, wanted, signatures)
      return
    case 'If':
      if (expression.else === null) return
      expectRecords(expression.then, wanted, signatures)
      expectRecords(expression.else, wanted, signatures)
      return
    case 'Match':
      for (const { body } of expression.arms) {
        if (isStatement(body)) expectLast([body], wanted, signatures)
        else expectRecords(body, wanted, signatures)
      }
      return
    case 'Object':
      expectRecord(expression, wanted, signatures)
      return
    case 'List':
      for (const item of expression.items) expectRecords(item, argument(wanted, ['List', 'Set'], 0), signatures)
      return
    case 'Tuple':
      for (const [index, item] of expression.items.entries()) {
        expectRecords(item, wanted.kind === 'tuple' ? (wanted.items[index] ?? ANY) : ANY, signatures)
      }
      return
    case 'For':
      expectRecords(expression.body, argument(wanted, ['List'], 0), signatures)
      return
    case 'Lambda':
      if (wanted.kind === 'function' && expression.result === null) {
        expectRecords(expression.body, wanted.result, signatures)
      }
      return
    case 'Call':
      expectPayload(expression, wanted, signatures)
  }
}

function expectLast(statements: readonly Statement[], wanted: ValueType, signatures: Signatures): void {
  const last = statements.at(-1)
  if (last?.kind === 'ExpressionStatement') expectRecords(last.expression, wanted, signatures)
}

/** Visits the payload of `Some`, `Ok` and `Error`; other calls check their own arguments. */
function expectPayload({ callee, args }: Call, wanted: ValueType, signatures: Signatures): void {
  const [only] = args
  if (callee.kind !== 'Identifier' || only === undefined || signatures.names.has(callee.name)) return
  switch (callee.name) {
    case 'Some':
      expectRecords(only.value, argument(wanted, ['Option'], 0), signatures)
      return
    case 'Ok':
      // A route declared with `to Task` may return `Ok(task)`.
      expectRecords(only.value, isNamed(wanted, 'Result') ? argument(wanted, ['Result'], 0) : wanted, signatures)
      return
    case 'Error':
    case 'Err':
      expectRecords(only.value, argument(wanted, ['Result'], 1), signatures)
  }
}

function expectRecord(record: ObjectLiteral, wanted: ValueType, signatures: Signatures): void {
  const name = declaredName(wanted)
  const given = new Set(record.entries.map(entryKey))
  if (name !== null && declaredMembers(wanted).some(field => hasOwnValue(field) && !given.has(field.name.text))) {
    signatures.expect(record, name)
  }
  // An optional column accepts the bare value.
  const inner = isNamed(wanted, 'Option') ? argument(wanted, ['Option'], 0) : null
  if (inner !== null) {
    expectRecord(record, inner, signatures)
    return
  }
  const fields = signatures.reader.fieldsOf(wanted)
  const others = argument(wanted, ['Map'], 1)
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
