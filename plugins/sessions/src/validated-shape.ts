import type { JsonSchema } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'

/**
 * Returns a function that describes the first schema error of a value: the field and its requirement; null if the value
 * is valid. The schema is compiled on first use, since most processes never see an envelope.
 */
export function shapeCheck(schema: () => JsonSchema): (value: unknown) => string | null {
  const check = schemaCheck(schema)
  return value => {
    const checked = check(value)
    if (checked.ok) return null
    const [problem] = checked.errors
    const field = problem?.instancePath.slice(1).replaceAll('/', '.') || 'it'
    const allowed = problem?.params.allowedValues as readonly unknown[] | undefined
    return `${field} ${problem?.message}${allowed === undefined ? '' : `: ${allowed.join(', ')}`}`
  }
}
