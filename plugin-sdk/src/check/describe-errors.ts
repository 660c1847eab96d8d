import type { JsonSchema } from '../schema.ts'
import type { SchemaError } from './ajv.ts'

export interface FieldProblem {
  /** Dotted path; empty for the value itself. */
  readonly path: string
  /** Describes a valid value. Never contains the actual value, which may be a secret. */
  readonly message: string
}

/** Maximum length of a reported path in characters: its keys may come from the sender. */
const MAX_PATH_CHARS = 200
const UNIONS: ReadonlySet<string> = new Set(['anyOf', 'oneOf'])

/** Describes each error: key, expected value and, for an unknown key, the known keys. A union has one description. */
export function describeErrors(errors: readonly SchemaError[] | null | undefined): FieldProblem[] {
  const all = errors ?? []
  const unions = all.filter(({ keyword }) => UNIONS.has(keyword))
  const isInside = (error: SchemaError): boolean =>
    unions.some(union => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`))
  return all.filter(error => !isInside(error)).flatMap(error => describeError(error, all))
}

export function renderProblems(problems: readonly FieldProblem[]): string {
  return problems
    .map(problem => (problem.path === '' ? problem.message : `${problem.path} ${problem.message}`))
    .join('; ')
}

function describeError(error: SchemaError, all: readonly SchemaError[]): FieldProblem[] {
  if (UNIONS.has(error.keyword)) return describeUnion(error, all)
  const path = pathOf(error)
  const { params, parentSchema } = error
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
      return [{ path, message: `unknown key${known.length > 0 ? `; known keys: ${known.join(', ')}` : ''}` }]
    }
    case 'required':
      return [{ path, message: 'is missing' }]
    case 'enum':
      return [{ path, message: `must be ${words({ enum: params.allowedValues })}` }]
    case 'const':
      return [{ path, message: `must be ${JSON.stringify(params.allowedValue)}` }]
    // The pattern itself would not help the user.
    case 'pattern':
      return [{ path, message: `has the wrong form${formOf(parentSchema ?? {})}` }]
    default:
      return [{ path, message: error.message ?? error.keyword }]
  }
}

/** Describes the errors of the alternative that the value resembles most, or all alternatives. */
function describeUnion(union: SchemaError, all: readonly SchemaError[]): FieldProblem[] {
  const path = pathOf(union)
  const branches = ((union.parentSchema?.[union.keyword] ?? []) as readonly JsonSchema[]).map((schema, index) => {
    const errors = all.filter(({ schemaPath }) => schemaPath.startsWith(`${union.schemaPath}/${index}/`))
    return { schema, errors }
  })
  const similar = branches.filter(({ errors }) => errors.length > 0 && !errors.some(error => decides(error, union)))
  const [nearest] = similar.toSorted((a, b) => a.errors.length - b.errors.length)
  if (nearest !== undefined) return describeErrors(nearest.errors)
  const tags = branches.flatMap(({ errors }) =>
    errors.filter(error => decides(error, union) && error.instancePath !== union.instancePath)
  )
  const [tag] = tags
  if (tag !== undefined && tags.every(({ instancePath }) => instancePath === tag.instancePath))
    return [{ path: pathOf(tag), message: `must be ${words({ enum: tags.flatMap(valuesOf) })}` }]
  const kinds = [...new Set(branches.map(({ schema }) => words(schema)))]
  return [{ path, message: kinds.length === 0 ? 'is not valid' : `must be ${kinds.join(' or ')}` }]
}

/** True if an error shows that the value is not meant for its alternative: another type, or another tag. */
function decides(error: SchemaError, union: SchemaError): boolean {
  const inner = error.instancePath.slice(union.instancePath.length)
  if (inner === '') return error.keyword === 'type' || error.keyword === 'const' || error.keyword === 'enum'
  return inner.lastIndexOf('/') === 0 && isTag(error)
}

/** True for a field that accepts a single value and so identifies an alternative. */
function isTag(error: SchemaError): boolean {
  return error.keyword === 'const' || (error.keyword === 'enum' && valuesOf(error).length === 1)
}

function valuesOf({ params }: SchemaError): readonly unknown[] {
  return (params.allowedValues as readonly unknown[] | undefined) ?? [params.allowedValue]
}

function words(schema: JsonSchema): string {
  const { anyOf, oneOf, enum: values, const: value, type } = schema
  const branches = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined
  if (branches !== undefined) return [...new Set(branches.map(words))].join(' or ')
  if (Array.isArray(values)) {
    const texts = values.map(each => JSON.stringify(each)).join(', ')
    return values.length === 1 ? texts : `one of ${texts}`
  }
  if (value !== undefined) return JSON.stringify(value)
  return type === undefined ? 'another value' : [type].flat().join(' or ')
}

/** Returns description and example of a schema with a pattern, as the end of a message. */
function formOf({ description, examples }: JsonSchema): string {
  const [example] = Array.isArray(examples) ? examples : []
  return [
    typeof description === 'string' ? `: ${description}` : '',
    example === undefined ? '' : `; for example ${String(example)}`
  ].join('')
}

function pathOf({ instancePath, params }: SchemaError): string {
  const base = instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const key = params.additionalProperty ?? params.missingProperty ?? params.unevaluatedProperty
  const full = typeof key === 'string' ? [base, key].filter(Boolean).join('.') : base
  return full.length > MAX_PATH_CHARS ? `${full.slice(0, MAX_PATH_CHARS)}…` : full
}
