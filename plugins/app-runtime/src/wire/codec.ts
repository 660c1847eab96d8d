import type { Value } from '../interpreter/value.ts'

/** Reads and writes the values of one type. Both throw a `Mismatch`. */
export interface Codec {
  /** The type name in messages. */
  readonly name: string
  /** True if a member may be omitted; its value is then `decode(undefined)`. */
  readonly isOptional: boolean
  decode(json: unknown): Value
  /** Returns JSON with bigints, for `printJson`. */
  encode(value: Value): unknown
}
