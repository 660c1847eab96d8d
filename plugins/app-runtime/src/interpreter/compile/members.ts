import type { HirExpression, HirSpan } from '@svc/contracts'
import { fail } from '../failure.ts'
import { identityOf, identityValue } from '../identity.ts'
import { jsonMember, jsonValue } from '../json.ts'
import type { Eval } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, Json, Opaque, Tagged, Tuple, type Value } from '../value.ts'
import { type BodyCompiler, peekLocal } from './body-compiler.ts'
import { pathOf } from './paths.ts'
import { requestField } from './request-field.ts'

type Entry = readonly [key: string, value: HirExpression]

export function compileField(
  body: BodyCompiler,
  expression: { readonly FieldAccess: readonly [HirExpression, string, HirSpan] }
): Eval {
  const [object, field, { start: at }] = expression.FieldAccess
  const path = pathOf(expression)
  const host = path === null ? null : body.names.hostValue(body, path, at)
  if (host !== null) return host
  const ofRequest = requestField(body, object, field, at)
  if (ofRequest !== null) return ofRequest
  const value = body.value(object)
  return frame => fieldOf(value(frame), field, at)
}

export function fieldOf(value: Value, field: string, at: number): Value {
  if (isRecord(value)) {
    const found = value.get(field)
    return found === undefined ? fail('RUN_INDEX', `the record has no field ${field}${fieldsOf(value)}`, at) : found
  }
  if (value instanceof Tuple) {
    const item = value.items[Number(field)]
    return item === undefined ? fail('RUN_INDEX', `a tuple of ${value.items.length} has no item ${field}`, at) : item
  }
  if (value instanceof Tagged) {
    const item = value.fields[value.names.indexOf(field)]
    return item === undefined ? fail('RUN_INDEX', `${value.tag} has no field ${field}`, at) : item
  }
  if (value instanceof Json) return jsonMember(value, field, at)
  if (value instanceof Opaque && Object.hasOwn(value.fields, field)) return (value.fields[field] as () => Value)()
  return fail('RUN_TYPE', `${typeName(value)} has no field ${field}`, at)
}

function fieldsOf(record: ReadonlyMap<string, Value>): string {
  const names = [...record.keys()]
  return names.length === 0 ? ': it is empty' : `: it has ${names.slice(0, 10).join(', ')}`
}

/** Resolves an index into a list of `length`; a negative one counts from the end. Throws `RUN_INDEX`. */
export function positionOf(length: number, index: Value, at: number): number {
  if (typeof index !== 'number') return fail('RUN_TYPE', `an index must be an int, found ${typeName(index)}`, at)
  const position = index < 0 ? length + index : index
  if (position >= 0 && position < length) return position
  return fail('RUN_INDEX', `there is no element ${index}: the length is ${length}`, at)
}

export function compileIndex(
  body: BodyCompiler,
  [object, index, { start: at }]: readonly [HirExpression, HirExpression, HirSpan]
): Eval {
  const whole = lookedInto(body, object)
  const position = body.value(index)
  return frame => {
    const value = whole(frame)
    const key = position(frame)
    if (isList(value)) return value[positionOf(value.length, key, at)] as Value
    return elementOf(value, key, at)
  }
}

/** Compiles an expression of whose value only a part is used. */
export function lookedInto(body: BodyCompiler, expression: HirExpression): Eval {
  const local = 'Ident' in expression ? body.scope.lookup(expression.Ident[0]) : undefined
  if (local === undefined || local.ownerSlot < 0) return body.value(expression)
  body.weight++
  return peekLocal(local)
}

export function elementOf(value: Value, key: Value, at: number): Value {
  if (isList(value)) return value[positionOf(value.length, key, at)] as Value
  if (isRecord(value)) {
    if (typeof key !== 'string') return fail('RUN_TYPE', `a key must be a str, found ${typeName(key)}`, at)
    const found = value.get(key)
    return found === undefined ? fail('RUN_INDEX', `there is no key ${key}${fieldsOf(value)}`, at) : found
  }
  if (typeof value === 'string') {
    const characters = [...value]
    return characters[positionOf(characters.length, key, at)] as string
  }
  if (value instanceof Tuple) return value.items[positionOf(value.items.length, key, at)] as Value
  if (value instanceof Json) {
    if (typeof key === 'string') return jsonMember(value, key, at)
    const items = Array.isArray(value.data) ? value.data : []
    return jsonValue(items[positionOf(items.length, key, at)], value.isBody)
  }
  return fail('RUN_TYPE', `${typeName(value)} has no elements`, at)
}

export function compileRecord(body: BodyCompiler, entries: readonly Entry[], at: number): Eval {
  const compiled = entries.map(([key, value]) => [key, body.value(value)] as const)
  const { machine } = body
  return frame => {
    machine.allocate(64 + 32 * compiled.length, at)
    const record = new Map<string, Value>()
    for (const [key, value] of compiled) record.set(key, value(frame))
    return record
  }
}

/** Compiles a constructor with named fields, or a record with the defaults of its type. */
export function compileStruct(
  body: BodyCompiler,
  { name, fields, span }: { readonly name: string; readonly fields: readonly Entry[]; readonly span: HirSpan }
): Eval {
  const fieldNames = body.names.constructorNames(name)
  if (fieldNames === null && name === 'Identity' && !body.names.hasType(name)) {
    const record = compileRecord(body, fields, span.start)
    return frame => identityValue(identityOf(record(frame)))
  }
  if (fieldNames === null) {
    const names = new Set(fields.map(([key]) => key))
    const missing = body.names.defaultsOf(name).filter(([key]) => !names.has(key))
    for (const [key] of missing) names.add(key)
    const empty = body.names.optionsOf(name).filter(key => !names.has(key))
    const nothing = empty.map((key): Entry => [key, { Ident: ['None', span] }])
    return compileRecord(body, [...fields, ...missing, ...nothing], span.start)
  }
  const unknown = fields.find(([key]) => !fieldNames.includes(key))
  const missing = fieldNames.find(key => !fields.some(([field]) => field === key))
  if (unknown !== undefined || missing !== undefined) {
    const problem = unknown === undefined ? `needs a field ${missing}` : `has no field ${unknown[0]}`
    return () => fail('RUN_ARGUMENTS', `${name} ${problem}`, span.start)
  }
  const record = compileRecord(body, fields, span.start)
  return frame => {
    const values = record(frame) as ReadonlyMap<string, Value>
    return new Tagged(
      name,
      fieldNames.map(key => values.get(key) as Value),
      fieldNames
    )
  }
}
