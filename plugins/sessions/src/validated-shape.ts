import type { JsonSchema } from '@svc/plugin-sdk'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/**
 * Describes the first schema error of a value: the field and its requirement; null if valid. The schema is
 * compiled on first use, since most processes never see an envelope.
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
