import type { JsonSchema } from '../schema.ts'
import { type Ajv, makeAjv, type SchemaError, type Validate } from './ajv.ts'
import { describeErrors, type FieldProblem } from './describe-errors.ts'

/** Maximum size of a value, in parts, for a full report. For larger values only the first problem is reported. */
const MAX_EXPLAINED_PARTS = 1_000
export const SHOWN_PROBLEMS = 20

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
