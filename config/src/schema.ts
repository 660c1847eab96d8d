import type { JsonSchema } from '@svc/plugin-sdk'
import { aliasesOf } from './aliases.ts'
import { isTable, type Path } from './layers.ts'

export type ReloadClass = 'live' | 'plugin' | 'restart'

/** One setting that a schema declares. A table with declared keys is no setting; a table with free keys is one. */
export interface Declared {
  readonly path: Path
  /** Other names in the same table. */
  readonly aliases: readonly string[]
  readonly schema: JsonSchema
  /** Environment variables in order of precedence. */
  readonly env: readonly string[]
  readonly reload: ReloadClass
  readonly secret: boolean
  /** True for a secret, and for a setting whose removal would give access. */
  readonly guards: boolean
}

export const MASK = '********'

export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return isTable(schema.properties) ? (schema.properties as Record<string, JsonSchema>) : {}
}

/** Returns the property with a name or an alias. */
function propertyNamed(schema: JsonSchema, name: string): JsonSchema | undefined {
  const properties = propertiesOf(schema)
  if (Object.hasOwn(properties, name)) return properties[name]
  return Object.values(properties).find(property => aliasesOf(property).includes(name))
}

/** Returns every setting of a schema in declaration order. `x-reload`, `x-secret` and `x-guards` apply to all nested settings. */
export function declaredSettings(schema: JsonSchema, path: Path = [], outer: JsonSchema = {}): readonly Declared[] {
  return Object.entries(propertiesOf(schema)).flatMap(([key, own]) => {
    const marks: JsonSchema = { ...outer, ...marked(schema), ...marked(own) }
    const here = [...path, key]
    if (Object.keys(propertiesOf(own)).length > 0 && own['x-env'] === undefined) {
      return declaredSettings(own, here, marks)
    }
    const env = own['x-env'] as string | readonly string[] | undefined
    const secret = marks['x-secret'] === true || holdsSecret(own)
    return {
      path: here,
      aliases: aliasesOf(own),
      schema: own,
      env: typeof env === 'string' ? [env] : (env ?? []),
      reload: (marks['x-reload'] as ReloadClass | undefined) ?? 'plugin',
      secret,
      guards: secret || marks['x-guards'] === true
    }
  })
}

/** Annotations that apply to all nested settings. */
const INHERITED = ['x-reload', 'x-secret', 'x-guards']

function marked(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(INHERITED.filter(key => key in schema).map(key => [key, schema[key]]))
}

/** True if a schema contains a secret. `$ref` is not followed: to be safe, a referenced schema counts as secret. */
function holdsSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsSecret)
  return isTable(value) && (value['x-secret'] === true || '$ref' in value || Object.values(value).some(holdsSecret))
}

/** True if the value at this path may be a secret, contain one or be part of one. */
export function isSecretAt(schema: JsonSchema, path: Path): boolean {
  let current = schema
  for (const key of path) {
    if (current['x-secret'] === true) return true
    const next = propertyNamed(current, key) ?? current.additionalProperties ?? current.items
    // Unions and references are not followed: one secret anywhere inside is enough.
    if (!isTable(next)) break
    current = next
  }
  return holdsSecret(current)
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table'
}
const LIMITS =
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength format minItems maxItems'

/** Describes the values that a schema accepts: `an integer (minimum 1, maximum 65535)`. */
export function describe(schema: JsonSchema): string {
  const branches = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined
  if (branches !== undefined) return branches.map(describe).join(' or ')
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map(value => JSON.stringify(value)).join(', ')}`
  const kinds = [schema.type ?? []].flat().map(type => WORDS[String(type)] ?? String(type))
  const limits = LIMITS.split(' ').filter(key => key in schema)
  const inner = isTable(schema.items)
    ? schema.items
    : isTable(schema.additionalProperties) && schema.additionalProperties
  return [
    kinds.join(' or ') || 'any value',
    limits.length > 0 ? ` (${limits.map(key => `${key} ${schema[key]}`).join(', ')})` : '',
    inner ? `, each ${describe(inner)}` : ''
  ].join('')
}
