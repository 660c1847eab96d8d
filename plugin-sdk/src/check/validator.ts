import type { JsonSchema } from '../schema.ts'
import { type Ajv, makeAjv, type SchemaError, type Validate } from './ajv.ts'

export interface FieldProblem {
  /** Dotted path; empty for the value itself. */
  readonly path: string
  /** Describes a valid value. Never contains the actual value, which may be a secret. */
  readonly message: string
}

/** Maximum size of a value, in parts, for a full report. For larger values only the first problem is reported. */
const MAX_EXPLAINED_PARTS = 1_000
export const SHOWN_PROBLEMS = 20
/** Maximum length of a reported path in characters: its keys may come from the sender. */
const SHOWN_CHARACTERS = 200

/** Compiled schemas. A reloaded plugin usually declares the same schemas, and compiling them again is slow. */
const compiled = {
  strict: new WeakMap<JsonSchema, Validate>(),
  coercing: new WeakMap<JsonSchema, Validate>()
}

/** Compiles schemas for one plugin unit. Each unit has its own instance, since an instance never frees its schemas. */
export class Validator {
  readonly #instances = new Map<string, Ajv>()

  /**
   * Returns a function that validates a value and adds defaults. With `coerce`, it converts strings to numbers and
   * booleans, and single values to arrays, if the schema requires it. Cached by the schema object, which must not
   * change.
   */
  compile(schema: JsonSchema, coerce = false): Validate {
    const known = coerce ? compiled.coercing : compiled.strict
    const validate = known.get(schema) ?? this.#instance(coerce, false).compile(schema)
    known.set(schema, validate)
    return validate
  }

  /** Returns all problems of an invalid value, up to a limit. `first`: errors of the failed validation. */
  explain(
    schema: JsonSchema,
    value: unknown,
    first: readonly SchemaError[] | null | undefined,
    coerce = false
  ): FieldProblem[] {
    if (countParts(value, MAX_EXPLAINED_PARTS) >= MAX_EXPLAINED_PARTS)
      return describeErrors(first).slice(0, SHOWN_PROBLEMS)
    const validate = this.#instance(coerce, true).compile(schema)
    validate(value)
    return describeErrors(validate.errors ?? first).slice(0, SHOWN_PROBLEMS)
  }

  #instance(coerce: boolean, all: boolean): Ajv {
    const key = `${coerce} ${all}`
    const known = this.#instances.get(key) ?? makeAjv({ coerce, defaults: true, all })
    this.#instances.set(key, known)
    return known
  }
}

/** Counts the nested values of a value, including itself, up to the limit. */
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

/** Describes each error: key, expected value and, for an unknown key, the known keys. */
export function describeErrors(errors: readonly SchemaError[] | null | undefined): FieldProblem[] {
  return (errors ?? []).map(error => {
    const base = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    const { params } = error
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
    // The pattern itself would not help the user.
    if (error.keyword === 'pattern') {
      const about = error.parentSchema?.description
      return { path, message: `has the wrong form${typeof about === 'string' ? `: ${about}` : ''}` }
    }
    return { path, message: error.message ?? error.keyword }
  })
}

export function renderProblems(problems: readonly FieldProblem[]): string {
  return problems
    .map(problem => (problem.path === '' ? problem.message : `${problem.path} ${problem.message}`))
    .join('; ')
}
