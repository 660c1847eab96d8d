import type { Decimal } from '../decimal.ts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { isObject, jsonValue } from '../json.ts'
import { functionArg, intArg, numberArg, textArg } from '../native.ts'
import { compare, intOf, negate } from '../operators.ts'
import { error, Float, type Json, NONE, ok, type RecordValue, some, type Tagged, Tuple, type Value } from '../value.ts'
import { type Methods, method } from './method.ts'

export const INT_METHODS: Methods<number | bigint> = {
  abs: method(0, 0, (value, _, __, at) => (value < 0 ? negate(value, at) : value)),
  min: method(1, 1, (value, args, _, at) => (compare(args[0] as Value, value, at) < 0 ? (args[0] as Value) : value)),
  max: method(1, 1, (value, args, _, at) => (compare(args[0] as Value, value, at) > 0 ? (args[0] as Value) : value)),
  to_float: method(0, 0, value => new Float(Number(value)))
}

export const FLOAT_METHODS: Methods<Float> = {
  abs: method(0, 0, ({ value }) => new Float(Math.abs(value))),
  floor: method(0, 0, ({ value }) => new Float(Math.floor(value))),
  ceil: method(0, 0, ({ value }) => new Float(Math.ceil(value))),
  // Rounds half away from zero; `Math.round` rounds half up.
  round: method(0, 0, ({ value }) => new Float(Math.sign(value) * Math.round(Math.abs(value)))),
  sqrt: method(0, 0, ({ value }) => new Float(Math.sqrt(value))),
  min: method(1, 1, ({ value }, args) => new Float(Math.min(value, numberArg(args, 0)))),
  max: method(1, 1, ({ value }, args) => new Float(Math.max(value, numberArg(args, 0)))),
  to_int: method(0, 0, ({ value }, _, __, at) => {
    return Number.isFinite(value)
      ? intOf(BigInt(Math.trunc(value)), at)
      : fail('RUN_OVERFLOW', `${value} is not an int`, at)
  })
}

export const DECIMAL_METHODS: Methods<Decimal> = {
  abs: method(0, 0, value => (value.digits < 0n ? value.negated() : value)),
  to_float: method(0, 0, value => new Float(value.toNumber())),
  round: method(1, 1, (value, args, _, at) => {
    const scale = intArg(args, 0)
    if (scale < 0 || scale > 28) fail('RUN_ARGUMENTS', `a decimal has 0 to 28 decimal places, not ${scale}`, at)
    return value.rounded(scale)
  })
}

/** Methods that Option and Result share. */
const CHOICE_METHODS: Methods<Tagged> = {
  unwrap: method(0, 0, (choice, _, __, at) => {
    return holds(choice) ? content(choice) : fail('RUN_PANIC', `unwrap of ${excerpt(choice)}`, at)
  }),
  unwrap_or: method(1, 1, (choice, args) => (holds(choice) ? content(choice) : (args[0] as Value)))
}

/** Methods of Result. It has no `map`: on a database result, `map` applies to the list in it. */
export const RESULT_METHODS: Methods<Tagged> = {
  is_ok: method(0, 0, ({ tag }) => tag === 'Ok'),
  is_err: method(0, 0, ({ tag }) => tag === 'Error'),
  ...CHOICE_METHODS
}

export const OPTION_METHODS: Methods<Tagged> = {
  is_some: method(0, 0, ({ tag }) => tag === 'Some'),
  is_none: method(0, 0, ({ tag }) => tag === 'None'),
  ...CHOICE_METHODS,
  map: method(1, 1, (choice, args, _, at) => {
    const fn = functionArg(args, 0)
    return holds(choice) ? some(fn.call([content(choice)], at)) : choice
  })
}

function holds({ tag }: Tagged): boolean {
  return tag === 'Some' || tag === 'Ok'
}

function content({ fields }: Tagged): Value {
  return fields[0] ?? null
}

export const RECORD_METHODS: Methods<RecordValue> = {
  get: method(1, 1, (record, args) => {
    const value = record.get(textArg(args, 0))
    return value === undefined ? NONE : some(value)
  }),
  has: method(1, 1, (record, args) => record.has(textArg(args, 0))),
  keys: method(0, 0, record => [...record.keys()]),
  values: method(0, 0, record => [...record.values()]),
  entries: method(0, 0, record => Array.from(record, ([key, value]) => new Tuple([key, value]))),
  len: method(0, 0, record => record.size),
  is_empty: method(0, 0, record => record.size === 0),
  set: method(2, 2, (record, args, machine) => {
    machine.allocate(32 * record.size)
    machine.charge(record.size >> 4)
    return new Map(record).set(textArg(args, 0), args[1] as Value)
  }),
  remove: method(1, 1, (record, args, machine) => {
    machine.allocate(32 * record.size)
    machine.charge(record.size >> 4)
    const left = new Map(record)
    left.delete(textArg(args, 0))
    return left
  })
}

const member = (is: (value: unknown) => boolean, type: string) =>
  method<Json>(1, 1, ({ data }, args) => {
    const key = textArg(args, 0)
    if (!isObject(data) || !Object.hasOwn(data, key)) return error(`the JSON has no ${key}`)
    return is(data[key]) ? ok(jsonValue(data[key])) : error(`${key} of the JSON is not of type ${type}`)
  })

function isInt64(data: unknown): boolean {
  return typeof data === 'bigint' && BigInt.asIntN(64, data) === data
}

export const JSON_METHODS: Methods<Json> = {
  get_str: member(value => typeof value === 'string', 'str'),
  get_int: member(value => Number.isSafeInteger(value) || isInt64(value), 'int'),
  get_float: method(1, 1, ({ data }, args) => {
    const key = textArg(args, 0)
    const value = isObject(data) && Object.hasOwn(data, key) ? data[key] : undefined
    const isNumber = typeof value === 'number' || typeof value === 'bigint'
    return isNumber ? ok(new Float(Number(value))) : error(`the JSON has no number ${key}`)
  }),
  get_bool: member(value => typeof value === 'boolean', 'bool'),
  get_object: member(isObject, 'object'),
  get_array: member(value => Array.isArray(value), 'array'),
  at: method(1, 1, ({ data }, args) => {
    const index = intArg(args, 0)
    const items = Array.isArray(data) ? data : []
    return index >= 0 && index < items.length ? ok(jsonValue(items[index])) : error(`the JSON has no element ${index}`)
  }),
  length: method(0, 0, ({ data }) => {
    return Array.isArray(data) ? data.length : isObject(data) ? Object.keys(data).length : 0
  }),
  keys: method(0, 0, ({ data }) => (isObject(data) ? Object.keys(data) : [])),
  is_null: method(0, 0, ({ data }) => data === null)
}
