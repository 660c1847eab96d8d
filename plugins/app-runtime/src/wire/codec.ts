import type { Value } from '../interpreter/value.ts'

/** Reads and writes the values of one type. Both throw a `Mismatch`. */
export interface Codec {
  /** The type, as people write it. */
  readonly name: string
  /** Whether a member of an object may be left out; it then is what `decode` makes of undefined. */
  readonly isOptional: boolean
  decode(json: unknown): Value
  /** Input of `printJson`: JSON with bigints. */
  encode(value: Value): unknown
}
