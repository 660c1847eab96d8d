import { printJson } from '../wire/json-text.ts'
import { losslessValue, type MakeHandle } from '../wire/lossless.ts'
import { untypedCodec } from '../wire/untyped-codec.ts'

/** Longest stored text that is converted: a longer one is cut anyway where it is shown. */
const MAX_CONVERTED = 200_000

const codec = untypedCodec(() => undefined)
/** An actor is shown by its name and id. */
const describedActor: MakeHandle = (actor, id) =>
  new Map<string, string>([
    ['actor', actor],
    ['id', id]
  ])

/**
 * Converts a stored value (see `losslessText`) to JSON in the form in which the API answers: `{"_tag":"Ok","value":3}`
 * for `Ok(3)`. Returns the text unchanged if it is very long or not of that format.
 */
export function apiJson(stored: string): string {
  if (stored.length > MAX_CONVERTED) return stored
  try {
    return printJson(codec.encode(losslessValue(stored, describedActor)))
  } catch {
    return stored
  }
}
