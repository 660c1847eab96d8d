import type { JsonSchema } from '@svc/plugin-sdk'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export interface FieldProblem {
  /** Dotted path; empty for the value itself. */
  readonly path: string
  readonly message: string
}

/**
 * Compiles schemas for one unit. An instance per unit, because a shared one keeps every schema that it ever saw, and
 * without the meta-schema, which costs more than all of a plugin's schemas together.
 */
export class Validator {
  #strict: Ajv2020 | undefined
  #coercing: Ajv2020 | undefined

  /** `coerce`: strings become numbers and booleans, and single values become arrays, where the schema asks for it. */
  compile(schema: JsonSchema, coerce = false): ValidateFunction {
    const ajv = coerce ? (this.#coercing ??= create(true)) : (this.#strict ??= create(false))
    return ajv.compile(schema)
  }
}

function create(coerce: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    meta: false,
    validateSchema: false,
    logger: false,
    strict: false,
    allErrors: true,
    verbose: true,
    useDefaults: true,
    ownProperties: true,
    coerceTypes: coerce ? 'array' : false
  })
  const addFormats = formats as unknown as (instance: Ajv2020) => void
  addFormats(ajv)
  return ajv
}

/** One sentence per problem; the words name the key, what was expected and, for unknown keys, what is known. */
export function describeErrors(errors: readonly ErrorObject[] | null | undefined): FieldProblem[] {
  return (errors ?? []).map(error => {
    const base = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    const params = error.params as Record<string, unknown>
    const key = params.additionalProperty ?? params.missingProperty ?? params.unevaluatedProperty
    const path = typeof key === 'string' ? [base, key].filter(Boolean).join('.') : base
    if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
      const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {})
      return { path, message: `unknown key${known.length > 0 ? `; known keys: ${known.join(', ')}` : ''}` }
    }
    if (error.keyword === 'required') return { path, message: 'is missing' }
    if (error.keyword === 'enum') {
      return {
        path,
        message: `must be one of ${(params.allowedValues as unknown[]).map(v => JSON.stringify(v)).join(', ')}`
      }
    }
    return { path, message: error.message ?? error.keyword }
  })
}

export function renderProblems(problems: readonly FieldProblem[]): string {
  return problems
    .map(problem => (problem.path === '' ? problem.message : `${problem.path} ${problem.message}`))
    .join('; ')
}
