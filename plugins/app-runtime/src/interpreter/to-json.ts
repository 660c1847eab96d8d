import { Mismatch } from '../wire/mismatch.ts'
import { untypedCodec } from '../wire/untyped-codec.ts'
import { fail } from './failure.ts'
import { typeName } from './type-name.ts'
import type { Value } from './value.ts'

const UNTYPED = untypedCodec(() => undefined)

/** Converts a value to JSON in the wire format, for `printJson`. Throws `RUN_TYPE` for functions. */
export function toJson(value: Value): unknown {
  try {
    return UNTYPED.encode(value)
  } catch (thrown) {
    if (!(thrown instanceof Mismatch)) throw thrown
    return fail('RUN_TYPE', `${typeName(value)} cannot be written as JSON: ${thrown.reason}`)
  }
}
