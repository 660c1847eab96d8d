import type { Hir } from '@svc/contracts'
import { fail } from '../failure.ts'
import { identityOf, identityValue } from '../identity.ts'
import { jsonMember, jsonValue } from '../json.ts'
import type { Eval } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, Json, NONE, Opaque, Tagged, Tuple, type Value } from '../value.ts'
import { assignsNothing } from './assigns-nothing.ts'
import { type BodyCompiler, constant } from './body-compiler.ts'
import { requestField } from './request-field.ts'

export function compileField(body: BodyCompiler, node: Hir.Field): Eval {
  const { object, name, start: at } = node
  const ofRequest = requestField(body, node)
  if (ofRequest !== null) return ofRequest
  const value = body.peek(object)
  return frame => {
    const record = value(frame)
    if (isRecord(record)) {
      const found = record.get(name)
      if (found !== undefined) return found
    }
    return fieldOf(record, name, at)
  }
}

export function fieldOf(value: Value, field: string, at: number): Value {
  if (isRecord(value)) {
    const found = value.get(field)
    return found === undefined ? fail('RUN_INDEX', `the record has no field ${field}${fieldsOf(value)}`, at) : found
  }
  if (value instanceof Tuple) return itemOf(value, Number(field), at)
  if (value instanceof Tagged) {
    const item = value.fields[value.names.indexOf(field)]
    return item === undefined ? fail('RUN_INDEX', `${value.tag} has no field ${field}`, at) : item
  }
  if (value instanceof Json) return jsonMember(value, field, at)
  if (value instanceof Opaque && Object.hasOwn(value.fields, field)) return (value.fields[field] as () => Value)()
  return fail('RUN_TYPE', `${typeName(value)} has no field ${field}`, at)
}

export function compileItem(body: BodyCompiler, { object, index, start: at }: Hir.Item): Eval {
  const value = body.peek(object)
  return frame => {
    const tuple = value(frame)
    return tuple instanceof Tuple ? itemOf(tuple, index, at) : fieldOf(tuple, String(index), at)
  }
}

function itemOf({ items }: Tuple, index: number, at: number): Value {
  const item = items[index]
  return item === undefined ? fail('RUN_INDEX', `a tuple of ${items.length} has no item ${index}`, at) : item
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

export function compileIndex(body: BodyCompiler, { object, index, start: at }: Hir.Index): Eval {
  const whole = assignsNothing(index) ? body.peek(object) : body.value(object)
  const position = body.value(index)
  return frame => {
    const value = whole(frame)
    const key = position(frame)
    if (isList(value)) return value[positionOf(value.length, key, at)] as Value
    return elementOf(value, key, at)
  }
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

export function compileRecord(body: BodyCompiler, entries: readonly Hir.NamedExpr[], at: number): Eval {
  return recordOf(
    body,
    entries.map(([key, value]) => [key, body.value(value)]),
    at
  )
}

function recordOf(
  { machine }: BodyCompiler,
  entries: readonly (readonly [key: string, value: Eval])[],
  at: number
): Eval {
  const bytes = 64 + 32 * entries.length
  return frame => {
    machine.allocate(bytes, at)
    const record = new Map<string, Value>()
    for (const [key, value] of entries) record.set(key, value(frame))
    return record
  }
}

/** Compiles a struct or a row, with the defaults of the members that the literal omits. */
export function compileStruct(
  body: BodyCompiler,
  { name, fields, start }: Pick<Hir.Struct, 'name' | 'fields' | 'start'>
): Eval {
  const { names } = body
  if (name === 'Identity' && !names.hasType(name)) {
    const record = compileRecord(body, fields, start)
    return frame => identityValue(identityOf(record(frame)))
  }
  const written = new Set(fields.map(([key]) => key))
  const omitted = names.omissibleOf(name).filter(([key]) => !written.has(key))
  const rest = omitted.map(([key, value]) => [key, value ?? constant(NONE)] as const)
  return recordOf(body, [...fields.map(([key, value]) => [key, body.value(value)] as const), ...rest], start)
}

/** Compiles a variant with its payload. */
export function compileVariant(body: BodyCompiler, { name, args, fields, start }: Hir.Variant): Eval {
  const fieldNames = body.names.constructorNames(name)
  if (fieldNames === null) return builtinVariant(body, name, args[0])
  const values = args.map(arg => body.value(arg))
  if (values.length < fieldNames.length) {
    const missing = fieldNames.find((_, index) => !fields.includes(index))
    return () => fail('RUN_ARGUMENTS', `${name} needs a field ${missing}`, start)
  }
  if (values.length === 0) return constant(new Tagged(name, []))
  const { machine } = body
  const bytes = 64 + 32 * values.length
  return frame => {
    machine.allocate(bytes, start)
    const items: Value[] = new Array(values.length)
    for (let index = 0; index < values.length; index++) {
      items[fields[index] as number] = (values[index] as Eval)(frame)
    }
    return new Tagged(name, items, fieldNames)
  }
}

/** Compiles `Some(x)`, `Ok(x)`, `Error(x)` and `None`. */
function builtinVariant(body: BodyCompiler, name: string, arg: Hir.Expr | undefined): Eval {
  if (name === 'None') return constant(NONE)
  const tag = name === 'Err' ? 'Error' : name
  if (arg === undefined) return () => new Tagged(tag, [null])
  const value = body.value(arg)
  return frame => new Tagged(tag, [value(frame)])
}
