/**
 * Small typed builder for JSON Schema 2020-12.
 *
 * A schema is plain JSON with two phantom types: the type of a valid value (`A`) and the type that a caller may pass
 * (`I`). They differ if a property has a default. Schemas of two copies of this package are compatible.
 */

/** JSON Schema 2020-12 as data. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

export interface Schema<A = unknown, I = A> extends JsonSchema {
  readonly '~type'?: A
  readonly '~input'?: I
}

/** Schema of another library (https://standardschema.dev, JSON Schema extension). */
export interface StandardJsonSchema<A = unknown, I = A> {
  readonly '~standard': {
    readonly types?: { readonly input: I; readonly output: A } | undefined
    readonly jsonSchema: { input(options: { target: 'draft-2020-12' }): Record<string, unknown> }
  }
}

export type SchemaLike<A = unknown, I = A> = Schema<A, I> | StandardJsonSchema<A, I>

/** Type of a validated value. */
export type Infer<S> =
  S extends StandardJsonSchema<infer A, infer _I>
    ? A
    : S extends { readonly '~type'?: infer A }
      ? NonUndefined<A>
      : unknown
/** Type that a caller may pass: properties with a default are optional. */
export type InferInput<S> =
  S extends StandardJsonSchema<infer _A, infer I>
    ? I
    : S extends { readonly '~input'?: infer I }
      ? NonUndefined<I>
      : unknown

type NonUndefined<A> = Exclude<A, undefined>

export interface Annotations {
  readonly title?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly deprecated?: boolean
  /** Environment variables for this setting, in order of precedence. */
  readonly 'x-env'?: string | readonly string[]
  /** Boolean values accepted from the environment: `strict` true/false, `truthy` also 1/yes/on and 0/no/off. */
  readonly 'x-env-type'?: 'strict' | 'truthy'
  /** Meaning of an empty variable: `unset` (default) ignores it, `clear` removes the values of files. */
  readonly 'x-env-empty'?: 'unset' | 'clear'
  /**
   * Other names of this setting in files and overrides, in the same table, such as earlier ones. The setting's own name
   * takes precedence.
   */
  readonly 'x-aliases'?: readonly string[]
  /** True for a secret: the value is never printed. */
  readonly 'x-secret'?: boolean
  /**
   * True for a setting that restricts access, such as a host rule. A configuration file that removes or empties it may be
   * half-written, so the change waits for two seconds. Secrets always count as such settings.
   */
  readonly 'x-guards'?: boolean
  /** Shell completions for this value. Default: the values of an enum, else file names. */
  readonly 'x-complete'?: 'plugins' | 'operations' | 'methods' | 'settings'
  /** True for an alternative spelling for other peers: accepted, but not shown in help, completions and tool lists. */
  readonly 'x-hidden'?: boolean
  /**
   * Value that the program `svc` adds if a server answers: `environment-problems` are the problems of the caller's
   * environment variables, which the server cannot see.
   */
  readonly 'x-fill'?: 'environment-problems'
  /** How a change of this setting is applied: live, by a reload of the plugin (default), or by a restart. */
  readonly 'x-reload'?: 'live' | 'plugin' | 'restart'
}

interface Defaulted<A> {
  readonly default: A
}

export interface StringOptions extends Annotations {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

export interface NumberOptions extends Annotations {
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}

export interface ArrayOptions extends Annotations {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}

export interface ObjectOptions extends Annotations {
  /** True to accept undeclared keys. Default false. */
  readonly additionalProperties?: boolean
  /** Top-level table of `svc.toml` for the plugin's settings, in addition to `[plugins.NAME]`. */
  readonly 'x-section'?: string
  /**
   * Other names of that table, which are read, too. Their values have a lower precedence. A name with a dot is a table
   * inside the table of another plugin, such as `orchestrator.news`.
   */
  readonly 'x-section-aliases'?: readonly string[]
}

type Optional<S> = S & { readonly '~optional': true }
type WithDefault<S, O> = O extends Defaulted<unknown> ? S & { readonly '~defaulted': true } : S

/** Options of a schema type, with or without a default. Unknown keywords are type errors, since they are typos. */
type Only<O, Known, Default> = Known & { readonly default?: Default } & {
  readonly [K in keyof O]: K extends keyof Known | 'default' ? unknown : never
}

type Properties = { readonly [key: string]: JsonSchema }
type OptionalKeys<P> = { [K in keyof P]: P[K] extends { '~optional': true } ? K : never }[keyof P]
type LooseKeys<P> = {
  [K in keyof P]: P[K] extends { '~optional': true } | { '~defaulted': true } ? K : never
}[keyof P]
type Flatten<A> = { [K in keyof A]: A[K] } & {}

export type ObjectOf<P extends Properties> = Flatten<
  { [K in Exclude<keyof P, OptionalKeys<P>>]: Infer<P[K]> } & { [K in OptionalKeys<P>]?: Infer<P[K]> }
>
export type ObjectInputOf<P extends Properties> = Flatten<
  { [K in Exclude<keyof P, LooseKeys<P>>]: InferInput<P[K]> } & { [K in LooseKeys<P>]?: InferInput<P[K]> }
>

/**
 * Mark of an optional property. Symbols are not part of the JSON. It is registered, so that all copies of this package
 * share it.
 */
const OPTIONAL = Symbol.for('svc.schema.optional')

function string<const O extends Only<O, StringOptions, string>>(options?: O): WithDefault<Schema<string>, O> {
  return { type: 'string', ...options } as never
}

function integer<const O extends Only<O, NumberOptions, number>>(options?: O): WithDefault<Schema<number>, O> {
  return { type: 'integer', ...options } as never
}

function number<const O extends Only<O, NumberOptions, number>>(options?: O): WithDefault<Schema<number>, O> {
  return { type: 'number', ...options } as never
}

function boolean<const O extends Only<O, Annotations, boolean>>(options?: O): WithDefault<Schema<boolean>, O> {
  return { type: 'boolean', ...options } as never
}

function literals<const V extends string | number, const O extends Only<O, Annotations, NoInfer<V>>>(
  values: readonly V[],
  options?: O
): WithDefault<Schema<V>, O> {
  const kinds = [...new Set(values.map(value => typeof value))]
  return { ...(kinds.length === 1 ? { type: kinds[0] } : {}), enum: values, ...options } as never
}

function array<S extends JsonSchema, const O extends Only<O, ArrayOptions, readonly unknown[]>>(
  items: S,
  options?: O
): WithDefault<Schema<Infer<S>[], InferInput<S>[]>, O> {
  return { type: 'array', items, ...options } as never
}

function record<S extends JsonSchema, const O extends Only<O, Annotations, Record<string, unknown>>>(
  values: S,
  options?: O
): WithDefault<Schema<Record<string, Infer<S>>, Record<string, InferInput<S>>>, O> {
  return { type: 'object', additionalProperties: values, ...options } as never
}

function object<const P extends Properties>(
  properties: P,
  options?: ObjectOptions
): Schema<ObjectOf<P>, ObjectInputOf<P>> {
  const required = Object.keys(properties).filter(key => {
    const property = properties[key] as JsonSchema
    return !(OPTIONAL in property) && !('default' in property)
  })
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
    ...options
  } as never
}

function optional<S extends JsonSchema>(schema: S): Optional<S> {
  return Object.defineProperty({ ...schema }, OPTIONAL, { value: true }) as unknown as Optional<S>
}

function nullable<S extends JsonSchema>(
  schema: S,
  options?: Annotations
): Schema<Infer<S> | null, InferInput<S> | null> {
  return { anyOf: [schema, { type: 'null' }], ...options } as never
}

function union<const S extends readonly JsonSchema[]>(
  schemas: S,
  options?: Annotations
): Schema<Infer<S[number]>, InferInput<S[number]>> {
  return { anyOf: schemas, ...options } as never
}

/** Declares a string whose value is never printed, logged or traced. */
function secret<const O extends Only<O, StringOptions, string>>(options?: O): WithDefault<Schema<string>, O> {
  return { type: 'string', ...options, 'x-secret': true } as never
}

function unknown(options?: Annotations): Schema<unknown> {
  return { ...options }
}

export const t = {
  string,
  integer,
  number,
  boolean,
  enum: literals,
  array,
  record,
  object,
  optional,
  nullable,
  union,
  secret,
  unknown
}

/** Converts a schema, possibly of another library, to plain JSON Schema. */
export function toJsonSchema(schema: SchemaLike): JsonSchema {
  const standard = (schema as Partial<StandardJsonSchema>)['~standard']
  return standard === undefined ? (schema as JsonSchema) : standard.jsonSchema.input({ target: 'draft-2020-12' })
}
