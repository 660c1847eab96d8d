import type { JsonSchema } from '@svc/plugin-sdk'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from '#ajv'
import formats from '#ajv-formats'

export interface FieldProblem {
  /** Dotted path; empty for the value itself. */
  readonly path: string
  /** Says what was expected, never what was given: that may be a secret. */
  readonly message: string
}

/** Values of more parts than this are explained by their first problem alone: a list of all could be larger than they. */
const EXPLAINED_PARTS = 1_000
const SHOWN_PROBLEMS = 20
/** Of a path: its keys may be the sender's own. */
const SHOWN_CHARACTERS = 200

/** A plugin that is loaded again and declares the same has the same schemas, whose compilation is what takes time. */
const compiled = {
  strict: new WeakMap<JsonSchema, ValidateFunction>(),
  coercing: new WeakMap<JsonSchema, ValidateFunction>()
}

/**
 * Compiles schemas for one unit. An instance per unit, because a shared one keeps every schema that it ever saw, and
 * without the meta-schema, which costs more than all of a plugin's schemas together.
 */
export class Validator {
  readonly #instances = new Map<string, Ajv2020>()

  /**
   * `coerce`: strings become numbers and booleans, and single values become arrays, where the schema asks for it. What was
   * compiled lasts as long as the schema, which must not change.
   */
  compile(schema: JsonSchema, coerce = false): ValidateFunction {
    const known = coerce ? compiled.coercing : compiled.strict
    const validate = known.get(schema) ?? this.#instance(coerce, false).compile(schema)
    known.set(schema, validate)
    return validate
  }

  /** Every problem of a value that was refused, up to a limit; `first` is what the refusal itself found. */
  explain(
    schema: JsonSchema,
    value: unknown,
    first: readonly ErrorObject[] | null | undefined,
    coerce = false
  ): FieldProblem[] {
    if (countParts(value, EXPLAINED_PARTS) >= EXPLAINED_PARTS) return describeErrors(first).slice(0, SHOWN_PROBLEMS)
    const validate = this.#instance(coerce, true).compile(schema)
    validate(value)
    return describeErrors(validate.errors ?? first).slice(0, SHOWN_PROBLEMS)
  }

  #instance(coerce: boolean, allErrors: boolean): Ajv2020 {
    const key = `${coerce} ${allErrors}`
    const known = this.#instances.get(key) ?? create(coerce, allErrors)
    this.#instances.set(key, known)
    return known
  }
}

function create(coerce: boolean, allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    meta: false,
    validateSchema: false,
    logger: false,
    strict: false,
    allErrors,
    verbose: true,
    useDefaults: true,
    ownProperties: true,
    coerceTypes: coerce ? 'array' : false
  })
  const addFormats = formats as unknown as (instance: Ajv2020) => void
  addFormats(ajv)
  return ajv
}

/** Values in a value, itself included; stops counting at the limit. */
function countParts(value: unknown, limit: number): number {
  let parts = 0
  const rest: unknown[] = [value]
  while (rest.length > 0 && parts < limit) {
    const next = rest.pop()
    parts += 1
    if (typeof next !== 'object' || next === null) continue
    const inner = Array.isArray(next) ? next : Object.values(next)
    if (parts + rest.length + inner.length >= limit) return limit
    rest.push(...inner)
  }
  return parts
}

/** One sentence per problem; the words name the key, what was expected and, for unknown keys, what is known. */
export function describeErrors(errors: readonly ErrorObject[] | null | undefined): FieldProblem[] {
  return (errors ?? []).map(error => {
    const base = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    const params = error.params as Record<string, unknown>
    const key = params.additionalProperty ?? params.missingProperty ?? params.unevaluatedProperty
    const full = typeof key === 'string' ? [base, key].filter(Boolean).join('.') : base
    const path = full.length > SHOWN_CHARACTERS ? `${full.slice(0, SHOWN_CHARACTERS)}…` : full
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
