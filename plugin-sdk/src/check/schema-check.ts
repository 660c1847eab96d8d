import type { Infer, JsonSchema } from '../schema.ts'
import { makeAjv, type SchemaError, type Validate } from './ajv.ts'
import { describeErrors, type FieldProblem, renderProblems, SHOWN_PROBLEMS } from './validator.ts'

export interface SchemaCheckOptions {
  /** Whether strings become numbers and booleans, and single values arrays, as the schema requires. Default: false. */
  readonly coerce?: boolean
  /** Whether defaults are filled into the given value. Default: false. */
  readonly defaults?: boolean
  /** Whether every problem is collected. Default: false, the first one. */
  readonly all?: boolean
}

export type SchemaCheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false
      readonly problems: readonly FieldProblem[]
      /** The problems in one line. Never holds the value, which may be a secret. */
      readonly text: string
      /** The errors of ajv, for callers with a different wording. */
      readonly errors: readonly SchemaError[]
    }

/**
 * Returns a function that checks values against a schema. The schema, or a function that returns it, is evaluated at
 * the first call. With `coerce` or `defaults` the given value is changed in place.
 */
export function schemaCheck<S extends JsonSchema>(
  schema: S | (() => S),
  options: SchemaCheckOptions = {}
): (value: unknown) => SchemaCheckResult<Infer<S>> {
  const { coerce = false, defaults = false, all = false } = options
  let validate: Validate | undefined
  return value => {
    validate ??= makeAjv({ coerce, defaults, all }).compile(typeof schema === 'function' ? schema() : schema)
    if (validate(value)) return { ok: true, value: value as Infer<S> }
    const errors = validate.errors ?? []
    const problems = describeErrors(errors).slice(0, SHOWN_PROBLEMS)
    return { ok: false, problems, text: renderProblems(problems), errors }
  }
}
