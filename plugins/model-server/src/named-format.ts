import { invalid } from './body-reader.ts'

/**
 * Returns the name of the grammar in `{"type": "grammar", "grammar": {"name": "vox"}}`, an extension of both APIs.
 * Throws `MSV_REQUEST_INVALID`.
 */
export function grammarName(format: object, field: string): string {
  const { grammar } = format as { grammar?: { name?: unknown } | null }
  const name = grammar?.name
  if (typeof name === 'string' && name !== '') return name
  throw invalid(`'${field}.grammar.name' must be the name of a grammar`, `${field}.grammar.name`)
}

/** Returns the pattern of `{"type": "regex", "pattern": "[a-z]+"}`, also an extension. Throws `MSV_REQUEST_INVALID`. */
export function regexPattern(format: object, field: string): string {
  const { pattern } = format as { pattern?: unknown }
  if (typeof pattern !== 'string' || pattern === '') {
    throw invalid(`'${field}.pattern' must be a regular expression`, `${field}.pattern`)
  }
  return pattern
}
