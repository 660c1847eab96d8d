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
  /** The schema that holds the keyword. */
  readonly parentSchema?: JsonSchema
  /** The refused value. It may be a secret: never show it. */
  readonly data?: unknown
}

/** A compiled schema. After a refusal `errors` holds the reasons, until the next call. */
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
  /** Strings become numbers and booleans, and single values arrays, as the schema requires. */
  readonly coerce: boolean
  /** Fills defaults into the value. */
  readonly defaults: boolean
  /** Collects every error instead of the first. */
  readonly all: boolean
}

let loaded: AjvModule | undefined

/** Used by bundles that carry ajv, since they may run where this package is not. */
export function carryAjv(module: AjvModule): void {
  loaded = module
}

/** Loads ajv at the first use, which most processes never reach. No meta-schema: that costs more than most schemas. */
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
    // Its pass over the generated code costs a third of a compilation. V8 removes the same dead code.
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
