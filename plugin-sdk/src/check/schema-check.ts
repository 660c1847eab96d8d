import type { Infer, JsonSchema } from '../schema.ts'
import { makeAjv, type SchemaError, type Validate } from './ajv.ts'
import { describeErrors, type FieldProblem, renderProblems } from './describe-errors.ts'
import { SHOWN_PROBLEMS } from './validator.ts'

export interface SchemaCheckOptions {
  /**
   * True to convert strings to numbers and booleans, and single values to arrays, if the schema requires it. Default
   * false.
   */
  readonly coerce?: boolean
  /** True to add defaults to the value. Default false. */
  readonly defaults?: boolean
  /** True to collect all problems. Default false: only the first one. */
  readonly all?: boolean
}

export type SchemaCheckResult<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false
      readonly problems: readonly FieldProblem[]
      /** Problems in one line. Never contains the value, which may be a secret. */
      readonly text: string
      /** Errors of ajv, for callers that word their own message. */
      readonly errors: readonly SchemaError[]
    }

/**
 * Returns a function that validates values against a schema. The schema, or a function that returns it, is evaluated on
 * the first call. With `coerce` or `defaults`, the value is changed in place.
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

/**
 * Returns a function that checks the replacement of a value: it must be of the same type and match the schema, if there is
 * one. Returns what is wrong, or undefined.
 */
export function replacementCheck(schema?: JsonSchema): (replacement: unknown, value: unknown) => string | undefined {
  const check = schema && schemaCheck(schema)
  return (replacement, value) => {
    const [type, expected] = [typeOf(replacement), typeOf(value)]
    if (type !== expected) return `${type} instead of ${expected}`
    const checked = check?.(replacement)
    return checked?.ok === false ? `a wrong value: ${checked.text}` : undefined
  }
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value
}
