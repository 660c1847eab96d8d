import { Decimal } from '../decimal.ts'
import { display } from '../display.ts'
import { fail } from '../failure.ts'
import { isObject } from '../json.ts'
import type { Machine } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { Callable, Float, isInt, isList, isRecord, Json, Opaque, Tagged, Tuple, type Value } from '../value.ts'
import { LIST_METHODS } from './list-methods.ts'
import type { Method } from './method.ts'
import {
  DECIMAL_METHODS,
  FLOAT_METHODS,
  INT_METHODS,
  JSON_METHODS,
  OPTION_METHODS,
  RECORD_METHODS,
  RESULT_METHODS
} from './other-methods.ts'
import { characterCount, TEXT_METHODS } from './text-methods.ts'

type Table = Readonly<Record<string, Method<never>>>
const NO_METHODS: Table = {}

/** Methods by the type of the receiver, without those that every value has. */
export const METHODS: Readonly<Record<string, Table>> = {
  str: TEXT_METHODS,
  int: INT_METHODS,
  float: FLOAT_METHODS,
  dec: DECIMAL_METHODS,
  List: LIST_METHODS,
  Map: RECORD_METHODS,
  Option: OPTION_METHODS,
  Result: RESULT_METHODS,
  Json: JSON_METHODS
}

/** Calls a method, selected by the type of the value. Throws `RUN_UNSUPPORTED` for an unknown method. */
export function callMethod(machine: Machine, self: Value, name: string, args: Value[], at: number): Value {
  if (self instanceof Opaque) {
    const run = Object.hasOwn(self.methods, name) ? self.methods[name] : undefined
    if (run !== undefined) return run(args)
    return isText(name, args) ? display(self) : missing(self, name, Object.keys(self.methods), at)
  }
  const table = tableOf(self)
  const method = Object.hasOwn(table, name) ? table[name] : undefined
  if (method !== undefined) {
    const { minArgs, maxArgs } = method
    if (args.length < minArgs || args.length > maxArgs) {
      const takes = minArgs === maxArgs ? `${minArgs}` : `${minArgs} to ${maxArgs}`
      fail(
        'RUN_ARGUMENTS',
        `${name} takes ${takes} ${takes === '1' ? 'argument' : 'arguments'}, got ${args.length}`,
        at
      )
    }
    return method.run(self as never, args, machine, at)
  }
  if (isRecord(self)) {
    const field = self.get(name)
    if (field instanceof Callable) return field.callOpen(args, at)
  }
  return isText(name, args) ? display(self) : missing(self, name, Object.keys(table), at)
}

/** True for the methods that every value has. */
function isText(name: string, args: readonly Value[]): boolean {
  return (name === 'to_str' || name === 'to_string') && args.length === 0
}

function missing(self: Value, name: string, known: readonly string[], at: number): never {
  const has = known.length === 0 ? '' : `; it has ${known.join(', ')}`
  return fail('RUN_UNSUPPORTED', `${typeName(self)} has no method ${name}${has}`, at)
}

function tableOf(self: Value): Table {
  if (typeof self === 'string') return TEXT_METHODS
  if (self === null || typeof self === 'boolean') return NO_METHODS
  if (isInt(self)) return INT_METHODS
  if (isList(self)) return LIST_METHODS
  if (isRecord(self)) return RECORD_METHODS
  if (self instanceof Tagged) {
    if (self.tag === 'Ok' || self.tag === 'Error') return RESULT_METHODS
    return self.tag === 'Some' || self.tag === 'None' ? OPTION_METHODS : NO_METHODS
  }
  if (self instanceof Float) return FLOAT_METHODS
  if (self instanceof Decimal) return DECIMAL_METHODS
  return self instanceof Json ? JSON_METHODS : NO_METHODS
}

/** Result of `len`: elements, characters, entries. */
export function elementCount(value: Value): number {
  if (typeof value === 'string') return characterCount(value)
  if (isList(value)) return value.length
  if (isRecord(value)) return value.size
  if (value instanceof Tuple) return value.items.length
  if (value instanceof Json) {
    const { data } = value
    if (Array.isArray(data)) return data.length
    if (isObject(data)) return Object.keys(data).length
  }
  return fail('RUN_TYPE', `${typeName(value)} has no length`)
}
