import type { Infer, JsonSchema } from '@svc/plugin-sdk'
import { type SchemaError, schemaCheck } from '@svc/plugin-sdk/check'
import { errors } from './errors.ts'

/** Problem in a body: its path, the expected and the received value. */
export interface BodyProblem {
  /** Keys and indices from the root of the body; empty if the body itself is wrong. */
  readonly path: readonly string[]
  readonly expected: string
  readonly got: string
}

/**
 * Returns a function that checks a body and removes nulls at its top level, because many clients send null for absent
 * fields. The function throws `MSV_REQUEST_INVALID`, whose `data.param` names the field. The schema is compiled for
 * the first body, since most processes that load this code never receive one.
 */
export function bodyReader<S extends JsonSchema>(
  schema: S,
  phrase: (problem: BodyProblem) => string = problemMessage
): (body: unknown) => Infer<S> {
  const check = schemaCheck(schema)
  return body => {
    if (body === undefined) throw invalid('missing request body')
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw invalid(`the request body must be a JSON object, got ${describe(body)}`)
    }
    const value = withoutNulls(body)
    const checked = check(value)
    if (checked.ok) return checked.value
    // The last error is the outermost one. For a union, its message covers all branches.
    const problem = toProblem(checked.errors.at(-1) as SchemaError)
    throw invalid(phrase(problem), fieldName(problem.path))
  }
}

function problemMessage({ path, expected, got }: BodyProblem): string {
  return `'${fieldName(path)}' must be ${expected}, got ${got}`
}

/** Returns a path as text, for example `messages[0].content`. */
function fieldName(path: readonly string[]): string {
  return path.map((part, at) => (/^\d+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`)).join('')
}

export function invalid(message: string, param?: string): Error {
  return errors.create('MSV_REQUEST_INVALID', message, param === undefined ? {} : { data: { param } })
}

export function withoutNulls(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
}

function toProblem(error: SchemaError): BodyProblem {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.keyword === 'required') {
    const missing = (error.params as { missingProperty: string }).missingProperty
    const properties = (error.parentSchema?.properties ?? {}) as Record<string, JsonSchema>
    return { path: [...path, missing], expected: expectation(properties[missing] ?? {}), got: 'nothing' }
  }
  return { path, expected: expectation(error.parentSchema ?? {}), got: describe(error.data) }
}

function expectation(schema: JsonSchema): string {
  const { type, description, minimum, maximum, exclusiveMinimum, minItems, minLength } = schema
  if (typeof description === 'string') return description
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map(value => `'${value}'`).join(', ')}`
  if (type === 'number' || type === 'integer') {
    const noun = type === 'number' ? 'a number' : 'an integer'
    if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`
    if (exclusiveMinimum !== undefined) return `${noun} above ${exclusiveMinimum}`
    return minimum === undefined ? noun : `${noun} of at least ${minimum}`
  }
  if (type === 'boolean') return 'true or false'
  if (type === 'array') return minItems === undefined ? 'a list' : `a list of at least ${minItems}`
  if (type === 'string') return minLength === undefined ? 'a string' : 'a string that is not empty'
  return 'an object'
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return value === null ? 'null' : 'an object'
  if (typeof value === 'string') return value.length > 40 ? 'a string' : JSON.stringify(value)
  return value === undefined ? 'nothing' : String(value)
}
