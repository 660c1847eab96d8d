import type { Decimal } from './decimal.ts'

/**
 * A value of the language. An int is a number if |n| < 2^53, else a bigint, so each int has one form.
 * Floats are boxed, so that `1.0` and `1` differ. Values are immutable, except the cells of variables.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Decimal
  | readonly Value[]
  | Tuple
  | RecordValue
  | Tagged
  | Callable
  | Json
  | Opaque

export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export class Tuple {
  readonly items: readonly Value[]

  constructor(items: readonly Value[]) {
    this.items = items
  }
}

/** A record or a map: string keys in insertion order. */
export type RecordValue = ReadonlyMap<string, Value>

/** A row of raw SQL. SQLite has no bools, so a struct takes the ints 0 and 1 of such a row for its bools. */
export class SqlRow extends Map<string, Value> {}

/** A constructor with its arguments: `Some(1)`, `Error("no")`, or one of the program. */
export class Tagged {
  readonly tag: string
  readonly fields: readonly Value[]
  /** Field names; empty if unnamed. */
  readonly names: readonly string[]

  constructor(tag: string, fields: readonly Value[], names: readonly string[] = []) {
    this.tag = tag
    this.fields = fields
    this.names = names
  }
}

export class Callable {
  readonly name: string
  /** Parameter names; null for a variadic one. */
  readonly params: readonly string[] | null
  readonly call: (args: Value[], at: number) => Value
  readonly #check: ((args: readonly Value[], at: number) => Value[]) | null

  /** `check` returns arguments with the types of the parameters, or throws `RUN_TYPE`; null if all values fit. */
  constructor(
    name: string,
    params: readonly string[] | null,
    call: (args: Value[], at: number) => Value,
    check: ((args: readonly Value[], at: number) => Value[]) | null = null
  ) {
    this.name = name
    this.params = params
    this.call = call
    this.#check = check
  }

  /** Calls the function from code that does not know the types of its parameters. */
  callOpen(args: Value[], at: number): Value {
    return this.call(this.#check === null ? args : this.#check(args, at), at)
  }
}

/** A parsed JSON value. */
export class Json {
  readonly data: unknown
  /** True if it is part of a request body: missing members are then a client error. */
  readonly isBody: boolean

  constructor(data: unknown, isBody = false) {
    this.data = data
    this.isBody = isBody
  }
}

/** A host object with methods, such as a regular expression or its match. */
export class Opaque {
  readonly type: string
  readonly methods: Readonly<Record<string, (args: Value[]) => Value>>
  readonly fields: Readonly<Record<string, () => Value>>

  constructor(type: string, methods: Opaque['methods'], fields: Opaque['fields'] = {}) {
    this.type = type
    this.methods = methods
    this.fields = fields
  }
}

export const NONE = new Tagged('None', [])
export const some = (value: Value): Tagged => new Tagged('Some', [value])
export const ok = (value: Value): Tagged => new Tagged('Ok', [value])
export const error = (message: Value): Tagged => new Tagged('Error', [message])

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

export function isRecord(value: Value): value is RecordValue {
  return value instanceof Map
}

export function isInt(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
