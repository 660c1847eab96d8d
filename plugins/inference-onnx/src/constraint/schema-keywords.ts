import { spendSteps } from './compile-limits.ts'
import { annotations, isObject, pointer, type Schema, type Source, structure } from './schema-sources.ts'
import { unsupported } from './unsupported.ts'

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

const types: readonly JsonType[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

/** Type to which a keyword applies, for keywords that apply to only one. */
const typeOfKeyword: Readonly<Record<string, JsonType>> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  patternProperties: 'object',
  propertyNames: 'object',
  minProperties: 'object',
  maxProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  maxItems: 'array',
  uniqueItems: 'array',
  contains: 'array',
  minContains: 'array',
  minLength: 'string',
  maxLength: 'string',
  pattern: 'string',
  format: 'string',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number'
}

/** Throws `INF_CONSTRAINT_UNSUPPORTED` for the first keyword outside the supported subset. */
export function checkKeywords({ schema, path }: Source): void {
  for (const keyword of Object.keys(schema)) {
    const known =
      Object.hasOwn(typeOfKeyword, keyword) ||
      annotations.has(keyword) ||
      structure.has(keyword) ||
      ['type', 'enum', 'const', 'not'].includes(keyword) ||
      keyword.startsWith('x-') ||
      (keyword === '$id' && path === '#')
    if (!known) throw unsupported(pointer(path, keyword), `the keyword ${JSON.stringify(keyword)} is not supported`)
  }
}

/**
 * Returns the types that all sources allow. Without `type`, type-specific keywords imply the type; without those, every
 * type is allowed.
 */
export function allowedTypes(sources: readonly Source[]): ReadonlySet<JsonType> {
  let allowed: ReadonlySet<JsonType> | null = null
  for (const source of sources) {
    const named = namedTypes(source)
    if (named === null) continue
    const before: ReadonlySet<JsonType> = allowed ?? new Set(types)
    // An integer is also a number.
    const both = types.filter(type => allows(named, type) && allows(before, type))
    allowed = new Set(both.filter(type => type !== 'integer' || !both.includes('number')))
  }
  const implied = sources.flatMap(({ schema }) => Object.keys(schema).flatMap(keyword => typeOfKeyword[keyword] ?? []))
  allowed ??= new Set(implied.length > 0 ? implied : types.filter(type => type !== 'integer'))
  return withoutTypes(allowed, excluded(sources).types)
}

function allows(types: ReadonlySet<JsonType>, type: JsonType): boolean {
  return types.has(type) || (type === 'integer' && types.has('number'))
}

function namedTypes({ schema, path }: Source): ReadonlySet<JsonType> | null {
  if (schema.type === undefined) return null
  const named = Array.isArray(schema.type) ? schema.type : [schema.type]
  const unknown = named.find(type => !types.includes(type))
  if (unknown !== undefined || named.length === 0) {
    throw unsupported(pointer(path, 'type'), `${JSON.stringify(unknown ?? [])} is not a JSON type`)
  }
  return new Set(named)
}

/** Returns the values that `enum`, `const` and `type` allow together; null if there is no `enum` or `const`. */
export function allowedValues(sources: readonly Source[]): readonly unknown[] | null {
  let left: Map<string, unknown> | null = null
  for (const { schema, path } of sources) {
    for (const keyword of ['enum', 'const']) {
      if (schema[keyword] === undefined) continue
      const values = keyword === 'const' ? [schema.const] : schema.enum
      if (!Array.isArray(values)) throw unsupported(pointer(path, keyword), 'it must be a list of values')
      const named = new Map(values.map(value => [JSON.stringify(value), value]))
      const before: Map<string, unknown> = left ?? named
      left = new Map([...before].filter(([text]) => named.has(text)))
    }
  }
  if (left === null) return null
  const allowed = allowedTypes(sources.filter(({ schema }) => schema.type !== undefined))
  const { types, values } = excluded(sources)
  const others = new Set<unknown>(values)
  return [...left.values()].filter(value => {
    const type = typeOfValue(value)
    if (others.has(value) || types.some(each => allows(new Set([each]), type))) return false
    return allows(allowed, type)
  })
}

/** Values that `not` excludes. */
export interface Excluded {
  readonly types: readonly JsonType[]
  readonly values: readonly (string | boolean | null)[]
}

/**
 * Returns what `not` excludes: types, or values of `enum` and `const`. Throws `INF_CONSTRAINT_UNSUPPORTED` for other
 * schemas, whose complement is no schema.
 */
export function excluded(sources: readonly Source[]): Excluded {
  const found: { types: JsonType[]; values: (string | boolean | null)[] } = { types: [], values: [] }
  for (const { schema, path } of sources) {
    const { not } = schema
    const at = pointer(path, 'not')
    if (not === undefined || not === false) continue
    const keywords = isObject(not) ? Object.keys(not).filter(keyword => !annotations.has(keyword)) : []
    if (not === true || (isObject(not) && keywords.length === 0)) found.types.push(...types)
    else if (isObject(not) && keywords.length === 1 && ['type', 'enum', 'const'].includes(keywords[0] as string)) {
      const source = { schema: not, path: at }
      if (keywords[0] === 'type') found.types.push(...(namedTypes(source) ?? []))
      for (const value of allowedValues([source]) ?? []) {
        if (typeof value === 'string' || typeof value === 'boolean' || value === null) found.values.push(value)
        else throw unsupported(at, '"not" with numbers, lists or objects is not supported')
      }
    } else throw unsupported(at, '"not" is supported only with one of "type", "enum" and "const"')
  }
  return found
}

function withoutTypes(allowed: ReadonlySet<JsonType>, without: readonly JsonType[]): ReadonlySet<JsonType> {
  const left = [...allowed].filter(type => !without.some(each => allows(new Set([each]), type)))
  if (left.includes('number') && without.includes('integer')) {
    throw unsupported('#', '"not" with the type "integer" is not supported where other numbers are allowed')
  }
  return new Set(left)
}

/** True if a source requires different items. */
export function needsUniqueItems(sources: readonly Source[]): boolean {
  return sources.some(({ schema, path }) => {
    const { uniqueItems = false } = schema
    if (typeof uniqueItems !== 'boolean') throw unsupported(pointer(path, 'uniqueItems'), 'it must be true or false')
    return uniqueItems
  })
}

/** Throws if a source constrains the contents of arrays or objects: contents of `enum` values are not checked. */
export function checkNothingInside(sources: readonly Source[], type: 'array' | 'object'): void {
  for (const { schema, path } of sources) {
    const keyword = Object.keys(schema).find(name => typeOfKeyword[name] === type)
    if (keyword === undefined) continue
    throw unsupported(pointer(path, keyword), `"${keyword}" next to an ${type} in enum or const is not supported`)
  }
}

export function typeOfValue(value: unknown): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value as JsonType
}

/** Returns the strictest value of a numeric keyword over all sources. `count`: accepts only whole numbers from 0 up. */
export function limit(
  sources: readonly Source[],
  keyword: string,
  strictest: (...values: number[]) => number,
  count = false
): number | undefined {
  spendSteps(sources.length)
  const values = sources.flatMap(({ schema, path }) => {
    const value = schema[keyword]
    if (value === undefined) return []
    const valid = count ? Number.isSafeInteger(value) && (value as number) >= 0 : Number.isFinite(value)
    if (!valid) {
      throw unsupported(
        pointer(path, keyword),
        `${JSON.stringify(value)} is not ${count ? 'a whole number of at least 0' : 'a number'}`
      )
    }
    return [value as number]
  })
  return values.length === 0 ? undefined : strictest(...values)
}

/** Returns the string values of a keyword in all sources, with their locations. */
export function texts(sources: readonly Source[], keyword: string): { readonly text: string; readonly path: string }[] {
  return sources.flatMap(({ schema, path }) => {
    const text = schema[keyword]
    if (text === undefined) return []
    if (typeof text !== 'string') throw unsupported(pointer(path, keyword), 'it must be a string')
    return [{ text, path: pointer(path, keyword) }]
  })
}

export function required(sources: readonly Source[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap(({ schema, path }) => {
      const names = schema.required ?? []
      if (!Array.isArray(names) || names.some(name => typeof name !== 'string')) {
        throw unsupported(pointer(path, 'required'), 'it must be a list of names')
      }
      return names as string[]
    })
  )
}

/** Returns the schemas in `properties`, by name; empty if it is absent. */
export function properties({ schema, path }: Source): Schema {
  const value = schema.properties ?? {}
  if (!isObject(value)) throw unsupported(pointer(path, 'properties'), 'it must be an object')
  return value
}

export function prefixItems({ schema, path }: Source): readonly unknown[] {
  const value = schema.prefixItems ?? []
  if (!Array.isArray(value)) throw unsupported(pointer(path, 'prefixItems'), 'it must be a list of schemas')
  return value
}
