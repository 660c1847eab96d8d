import { printJson } from '../wire/json-text.ts'
import { withDigits } from '../wire/with-digits.ts'
import type { LogFields } from './host.ts'
import { toJson } from './to-json.ts'
import type { Value } from './value.ts'

/** Maximum characters of the fields of a log line, as JSON. */
const MAX_FIELDS = 16_384

/** Returns the fields of a log line as plain JSON. A value that is no record is the field `value`. */
export function logFields(value: Value): LogFields {
  const json = toJson(value)
  const { length } = printJson(json)
  if (length > MAX_FIELDS) return { omitted: `fields of ${length} characters; the limit is ${MAX_FIELDS}` }
  const plain = withDigits(json)
  const isRecord = typeof plain === 'object' && plain !== null && !Array.isArray(plain)
  return isRecord ? (plain as LogFields) : { value: plain }
}
