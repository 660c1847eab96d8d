import type { JsonSchema } from '@svc/plugin-sdk'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/**
 * Describes the first problem of a value by a schema: the field, and what it must be; null for none. The schema is compiled at the
 * first use, since most processes never see an envelope.
 */
export function shapeCheck(schema: () => JsonSchema): (value: unknown) => string | null {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= new Ajv2020({ meta: false, validateSchema: false, strict: false }).compile(schema())
    if (validate(value)) return null
    const [problem] = validate.errors ?? []
    const field = problem?.instancePath.slice(1).replaceAll('/', '.') || 'it'
    const allowed = problem?.params.allowedValues as readonly unknown[] | undefined
    return `${field} ${problem?.message}${allowed === undefined ? '' : `: ${allowed.join(', ')}`}`
  }
}
