import type { Value } from '../interpreter/value.ts'

/** Reads and writes the values of one type. Both throw a `Mismatch`. */
export interface Codec {
  /** The type, as shown to users. */
  readonly name: string
  /** True if a member of an object may be omitted; `decode` of undefined then is its value. */
  readonly isOptional: boolean
  decode(json: unknown): Value
  /** Input of `printJson`: JSON with bigints. */
  encode(value: Value): unknown
}
