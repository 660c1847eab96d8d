import { createRequire } from 'node:module'
import type { JsonSchema } from '../schema.ts'

/** Fields of an ajv error that this package uses. */
export interface SchemaError {
  /** JSON pointer into the value. */
  readonly instancePath: string
  /** JSON pointer into the schema. */
  readonly schemaPath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  /** Schema that contains the keyword. */
  readonly parentSchema?: JsonSchema
  /** Rejected value. Never show it: it may be a secret. */
  readonly data?: unknown
}

/** Compiled schema. If a value is invalid, `errors` has the reasons until the next call. */
export interface Validate {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

export interface Ajv {
  compile(schema: JsonSchema): Validate
}

export interface AjvModule {
  readonly Ajv2020: new (options: object) => Ajv
  addFormats(ajv: Ajv): void
}

export interface AjvOptions {
  /** Converts strings to numbers and booleans, and single values to arrays, if the schema requires it. */
  readonly coerce: boolean
  /** Adds defaults to the value. */
  readonly defaults: boolean
  /** Collects all errors instead of only the first. */
  readonly all: boolean
}

let loaded: AjvModule | undefined

/** Sets ajv, for bundles that include it, since they may run without this package. */
export function carryAjv(module: AjvModule): void {
  loaded = module
}

/**
 * Creates an ajv instance. Loads ajv on first use. Without the meta-schema, which would take longer than most schemas.
 */
export function makeAjv({ coerce, defaults, all }: AjvOptions): Ajv {
  loaded ??= createRequire(import.meta.url)('@svc/plugin-sdk/check/ajv') as AjvModule
  const ajv = new loaded.Ajv2020({
    meta: false,
    validateSchema: false,
    logger: false,
    strict: false,
    allErrors: all,
    verbose: true,
    useDefaults: defaults,
    ownProperties: true,
    coerceTypes: coerce ? 'array' : false,
    // ajv's optimizer takes a third of the compilation time, and V8 removes the same dead code.
    code: { optimize: false }
  })
  const { addFormats } = loaded
  let formats = false
  return {
    compile(schema) {
      if (!formats && JSON.stringify(schema).includes('"format"')) {
        formats = true
        addFormats(ajv)
      }
      return ajv.compile(schema)
    }
  }
}
