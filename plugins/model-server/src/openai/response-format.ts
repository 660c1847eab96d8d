import { invalid } from '../body-reader.ts'
import type { FieldConstraint } from '../completions.ts'
import type { Grammars } from '../grammars.ts'
import { grammarName, regexPattern } from '../named-format.ts'

const FIELD = 'response_format'
const SCHEMA_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Returns the constraint that `response_format` sets; undefined for text. A schema is enforced even if it is not
 * `strict`. Throws `MSV_REQUEST_INVALID`, naming the field.
 */
export function responseFormat(
  format: { readonly type: string; readonly [field: string]: unknown },
  grammars: Grammars
): FieldConstraint | undefined {
  switch (format.type) {
    case 'text':
      return undefined
    case 'json_object':
      return { field: FIELD, value: { type: 'json-object' } }
    case 'json_schema':
      return {
        field: FIELD,
        value: { type: 'json-schema', schema: namedSchema(format.json_schema, `${FIELD}.json_schema`) }
      }
    case 'regex':
      return { field: FIELD, value: { type: 'regex', pattern: regexPattern(format, FIELD) } }
    case 'grammar':
      return grammars.constraint(grammarName(format, FIELD), `${FIELD}.grammar.name`)
    default:
      throw invalid(
        `'${FIELD}.type' must be one of 'text', 'json_object', 'json_schema', 'regex', 'grammar', got '${format.type}'`,
        `${FIELD}.type`
      )
  }
}

/** Returns the schema of an object with `name` and `schema`; `place`: path of the object. Throws `MSV_REQUEST_INVALID`. */
export function namedSchema(value: unknown, place: string): Readonly<Record<string, unknown>> {
  const { name, schema } = (value ?? {}) as { name?: unknown; schema?: unknown }
  if (typeof name !== 'string' || !SCHEMA_NAME.test(name)) {
    throw invalid(`'${place}.name' must be 1 to 64 letters, digits, '_' or '-'`, `${place}.name`)
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalid(`'${place}.schema' must be a JSON Schema`, `${place}.schema`)
  }
  return schema as Readonly<Record<string, unknown>>
}
