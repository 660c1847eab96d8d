import type { Value } from '../interpreter/value.ts'

/** Counts the work of a check. Throws at the limits of the program. */
export interface Meter {
  charge(steps: number): void
  allocate(bytes: number): void
  /** True if records may have members that their type does not declare; they are kept. */
  readonly allowsMore?: boolean
}

/** Reads, writes and checks the values of one type. All throw a `Mismatch`. */
export interface Codec {
  /** The type name in messages. */
  readonly name: string
  /** True if a member may be omitted; its value is then `decode(undefined)`. */
  readonly isOptional: boolean
  decode(json: unknown): Value
  /** Returns JSON with bigints, for `printJson`. */
  encode(value: Value): unknown
  /**
   * Checks a value of any type, at any depth. Returns the value, with parts converted as `decode` converts JSON: an int
   * to a float, a value to `Some`, JSON to values of the type.
   */
  check(value: Value, meter: Meter): Value
}
