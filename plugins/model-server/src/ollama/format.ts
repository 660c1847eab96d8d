import { invalid } from '../body-reader.ts'
import type { FieldConstraint } from '../completions.ts'
import type { Grammars } from '../grammars.ts'
import { grammarName, regexPattern } from '../named-format.ts'

const FIELD = 'format'

/**
 * Returns the constraint that `format` sets: `json` for any object, or a JSON Schema. Extensions are
 * `{"type": "grammar", "grammar": {"name": …}}` and `{"type": "regex", "pattern": …}`, whose types no schema has.
 * Returns undefined for text. Throws `MSV_REQUEST_INVALID`.
 */
export function formatConstraint(format: unknown, grammars: Grammars): FieldConstraint | undefined {
  if (format === undefined || format === null) return grammars.byDefault()
  if (format === '') return undefined
  if (format === 'json') return { field: FIELD, value: { type: 'json-object' } }
  if (typeof format !== 'object' || Array.isArray(format)) {
    throw invalid(`invalid format: ${JSON.stringify(format)}; expected "json" or a valid JSON Schema object`, FIELD)
  }
  const { type } = format as { type?: unknown }
  if (type === 'grammar') return grammars.constraint(grammarName(format, FIELD), `${FIELD}.grammar.name`)
  if (type === 'regex') return { field: FIELD, value: { type: 'regex', pattern: regexPattern(format, FIELD) } }
  return { field: FIELD, value: { type: 'json-schema', schema: format as Readonly<Record<string, unknown>> } }
}
