import type { JsonSchema } from '../schema.ts'
import { type Ajv, makeAjv, type SchemaError, type Validate } from './ajv.ts'

export interface FieldProblem {
  /** Dotted path. Empty for the value itself. */
  readonly path: string
  /** Names what was expected, never the given value: that may be a secret. */
  readonly message: string
}

/** For a value with more parts, only the first problem is reported: a list of all could be larger than the value. */
const MAX_EXPLAINED_PARTS = 1_000
export const SHOWN_PROBLEMS = 20
/** Limit of a shown path: its keys may come from the sender. */
const SHOWN_CHARACTERS = 200

/** A plugin that is loaded again has the same schemas if its declarations did not change. Compilation is the cost. */
const compiled = {
  strict: new WeakMap<JsonSchema, Validate>(),
  coercing: new WeakMap<JsonSchema, Validate>()
}

/** Compiles schemas for one plugin unit. One instance per unit, because an instance keeps every schema that it saw. */
export class Validator {
  readonly #instances = new Map<string, Ajv>()

  /**
   * Returns a function that fills in defaults. With `coerce`, strings become numbers and booleans, and single values become
   * arrays, as the schema requires. The result is cached as long as the schema, which must not change.
   */
  compile(schema: JsonSchema, coerce = false): Validate {
    const known = coerce ? compiled.coercing : compiled.strict
    const validate = known.get(schema) ?? this.#instance(coerce, false).compile(schema)
    known.set(schema, validate)
    return validate
  }

  /** Returns every problem of a refused value, up to a limit. `first` holds the errors of the refusal itself. */
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

/** Counts the values inside a value, itself included. Stops at the limit. */
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

/** Describes each error in one sentence: the key, what was expected and, for an unknown key, the known ones. */
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
    // The pattern itself would not help the person who gave the value.
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
