import { type JsonSchema, parseSecretReference } from '@svc/plugin-sdk'
import { type SchemaError, schemaCheck } from '@svc/plugin-sdk/check'
import { isTable, type Path, type Table, valueAt } from './layers.ts'
import { describe, propertiesOf } from './schema.ts'

/** One violation of a schema. */
export interface Issue {
  readonly path: Path
  readonly kind: 'invalid' | 'missing' | 'unknown'
  /** Description of a valid value. */
  readonly expected: string
  /** Known keys, if the issue is an unknown key. */
  readonly known: readonly string[]
}

export interface Checked {
  /** Settings with defaults. If there are issues, some defaults may be missing. */
  readonly value: Table
  readonly issues: readonly Issue[]
}

/**
 * Validates settings and fills in defaults. With `references`, a `secret://` reference is valid for any string setting:
 * formats and patterns apply to the secret, which is resolved later. Throws if the schema cannot be compiled.
 */
export function check(schema: JsonSchema, given: Table, references: boolean): Checked {
  const defaults = Object.keys(given).length === 0 ? defaultsOf(schema) : undefined
  if (defaults !== undefined) return { value: defaults, issues: [] }
  const value = structuredClone(given) as Record<string, unknown>
  openTables(schema, value)
  const checked = checkOf(schema)(value)
  if (checked.ok) return { value, issues: [] }
  const errors = checked.errors.map(error => ({ error, path: pointer(error.instancePath) }))
  const unions = errors.filter(({ error }) => error.keyword === 'anyOf' || error.keyword === 'oneOf')
  const inUnion = ({ error }: { error: SchemaError }): boolean =>
    unions.some(union => error.schemaPath.startsWith(`${union.error.schemaPath}/`))
  const issues = new Map<string, Issue>()
  for (const found of errors) {
    const stands = references && standsForString(valueAt(value, found.path), found.error)
    if (stands || inUnion(found)) continue
    const issue = toIssue(found.error, found.path)
    const key = JSON.stringify(issue.path)
    if (!issues.has(key)) issues.set(key, issue)
  }
  return { value, issues: [...issues.values()] }
}

const checks = new WeakMap<JsonSchema, ReturnType<typeof schemaCheck>>()

/** Returns the cached check of a schema. Weak keys free the checks of unloaded plugins. */
function checkOf(schema: JsonSchema): ReturnType<typeof schemaCheck> {
  const check = checks.get(schema) ?? schemaCheck(schema, { defaults: true, all: true })
  checks.set(schema, check)
  return check
}

const PLAIN = new Set([
  'type',
  'properties',
  'additionalProperties',
  'required',
  'default',
  'title',
  'description',
  '$schema'
])

/**
 * Returns the settings of an empty table without loading ajv. Undefined if the schema has keywords other than
 * properties with defaults. Most plugins run with their defaults, and `--help` should not load a validator.
 */
function defaultsOf(schema: JsonSchema): Table | undefined {
  const properties = propertiesOf(schema)
  const required = new Set((schema.required ?? []) as readonly string[])
  if (!Object.keys(schema).every(key => PLAIN.has(key) || key.startsWith('x-'))) return undefined
  if ([...required].some(key => !Object.hasOwn(properties, key))) return undefined
  const values: Record<string, unknown> = {}
  for (const [key, property] of Object.entries(properties)) {
    if ('default' in property) {
      const { default: fallback } = property
      const isEmpty = isTable(fallback) && Object.keys(fallback).length === 0
      // The schema may declare more defaults inside such a default, which only ajv applies.
      const isDeep = Array.isArray(fallback) ? fallback.some(isObject) : isTable(fallback) && !isEmpty
      if (isDeep) return undefined
      const value = isEmpty && property.properties !== undefined ? defaultsOf(property) : structuredClone(fallback)
      if (value === undefined) return undefined
      values[key] = value
    } else if (required.has(key)) {
      const inner = isTable(property.properties) && property.type === 'object' ? defaultsOf(property) : undefined
      if (inner === undefined) return undefined
      values[key] = inner
    }
  }
  return values
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Adds required tables that no layer sets, so that their defaults apply. */
function openTables(schema: JsonSchema, value: Record<string, unknown>): void {
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    const required = Array.isArray(schema.required) && schema.required.includes(key)
    if (property.type !== 'object' || 'default' in property) continue
    if (required && !Object.hasOwn(value, key) && isTable(property.properties)) value[key] = {}
    if (Object.hasOwn(value, key) && isTable(value[key])) openTables(property, value[key] as Record<string, unknown>)
  }
}

function pointer(text: string): Path {
  return text
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function toIssue(error: SchemaError, path: Path): Issue {
  const around = (error.parentSchema ?? {}) as JsonSchema
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>
  if (error.keyword === 'required' && missingProperty !== undefined) {
    const schema = propertiesOf(around)[missingProperty] ?? {}
    return { path: [...path, missingProperty], kind: 'missing', expected: describe(schema), known: [] }
  }
  if (error.keyword === 'additionalProperties' && additionalProperty !== undefined) {
    const known = Object.keys(propertiesOf(around))
    return { path: [...path, additionalProperty], kind: 'unknown', expected: '', known }
  }
  const words = describe(around)
  return { path, kind: 'invalid', expected: words === 'any value' ? (error.message ?? 'valid') : words, known: [] }
}

function standsForString(value: unknown, error: SchemaError): boolean {
  return typeof value === 'string' && parseSecretReference(value) !== null && error.keyword !== 'type'
}
