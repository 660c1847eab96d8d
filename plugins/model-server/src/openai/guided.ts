import { errorMessage, parseStrictJson } from '@svc/plugin-sdk'
import { invalid } from '../body-reader.ts'
import type { FieldConstraint } from '../completions.ts'
import { unsupported } from '../unsupported-fields.ts'

const MAX_CHOICES = 1_000
const MAX_CHOICE_CHARACTERS = 16_384

/** Forms of a constraint, by the field of vLLM and its name in `structured_outputs`. */
const FORMS: Readonly<Record<string, (value: unknown, field: string) => FieldConstraint['value']>> = {
  json: (value, field) => ({ type: 'json-schema', schema: schemaOf(value, field) }),
  regex: (value, field) => {
    if (typeof value === 'string' && value !== '') return { type: 'regex', pattern: value }
    throw invalid(`'${field}' must be a regular expression`, field)
  },
  choice: (value, field) => ({ type: 'regex', pattern: choicesOf(value, field).map(escaped).join('|') }),
  grammar: (value, field) => {
    if (typeof value === 'string' && value !== '') return { type: 'gbnf', grammar: value }
    throw invalid(`'${field}' must be a grammar in GBNF notation with a rule 'root'`, field)
  }
}

/** Fields of llama.cpp, with their forms. */
const LLAMA_FIELDS: Readonly<Record<string, string>> = { grammar: 'grammar', json_schema: 'json' }

/**
 * Returns the constraint of vLLM's fields `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar` and
 * `structured_outputs`, and of llama.cpp's `grammar` and `json_schema`; undefined if there is none. Only one constraint is allowed, and not with `response_format`. Throws
 * `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field.
 */
export function guidedConstraint(body: object): FieldConstraint | undefined {
  const fields = body as Readonly<Record<string, unknown>>
  const found: FieldConstraint[] = []
  const add = (field: string, form: string, value: unknown): void => {
    const read = Object.hasOwn(FORMS, form) ? FORMS[form] : undefined
    if (read === undefined) throw unsupported(field, 'this server does not support it')
    found.push({ field, value: read(value, field) })
  }
  for (const form of Object.keys(FORMS)) {
    const value = fields[`guided_${form}`]
    if (value !== undefined && value !== null) add(`guided_${form}`, form, value)
  }
  for (const [field, form] of Object.entries(LLAMA_FIELDS)) {
    const value = fields[field]
    if (value !== undefined && value !== null && value !== '') add(field, form, value)
  }
  for (const [form, value] of Object.entries(structuredOutputs(fields.structured_outputs))) {
    const field = `structured_outputs.${form}`
    if (value === null || value === false) continue
    if (form === 'json_object' && value === true) found.push({ field, value: { type: 'json-object' } })
    else add(field, form, value)
  }
  const [first, second] = found
  if (first === undefined) return undefined
  const format = fields.response_format as { readonly type?: unknown } | undefined
  const other = second?.field ?? (format === undefined || format.type === 'text' ? undefined : 'response_format')
  if (other !== undefined) throw invalid(`'${first.field}' cannot be combined with '${other}'`, first.field)
  return first
}

function structuredOutputs(value: unknown): object {
  if (value === undefined || value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value
  throw invalid(`'structured_outputs' must be an object`, 'structured_outputs')
}

/** Returns the schema; clients also send it as JSON text. */
function schemaOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  let schema = value
  try {
    if (typeof value === 'string') schema = parseStrictJson(value)
  } catch (error) {
    throw invalid(`'${field}' must be a JSON Schema, or its text: ${errorMessage(error)}`, field)
  }
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema as Record<string, unknown>
  throw invalid(`'${field}' must be a JSON Schema, or its text`, field)
}

function choicesOf(value: unknown, field: string): readonly string[] {
  const isList = Array.isArray(value) && value.length > 0 && value.length <= MAX_CHOICES
  if (isList && value.every(each => typeof each === 'string' && each !== '')) {
    const choices = value as readonly string[]
    if (choices.reduce((sum, each) => sum + each.length, 0) <= MAX_CHOICE_CHARACTERS) return choices
  }
  throw invalid(
    `'${field}' must be a list of 1 to ${MAX_CHOICES} strings, none of them empty, of at most ${MAX_CHOICE_CHARACTERS} characters in total`,
    field
  )
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
