import { isWithin, type NumberBounds, numbers } from './decimal.ts'
import { AutomatonTooLarge, combine, type Dfa } from './dfa.ts'
import { formats } from './formats.ts'
import { type Items, JsonNetwork, type Property, unboundedNumbers } from './json-network.ts'
import { jsonStringBytes, literals } from './json-text.ts'
import { type Network, type NetworkRule, NetworkTooLarge } from './network.ts'
import { compileRegex } from './regex.ts'
import {
  allowedTypes,
  allowedValues,
  checkKeywords,
  checkNothingInside,
  type JsonType,
  limit,
  prefixItems,
  properties,
  required,
  texts,
  typeOfValue
} from './schema-keywords.ts'
import { pointer, type Schema, SchemaSources, type Source } from './schema-sources.ts'
import { unsupported } from './unsupported.ts'

/** Maximum value of `minItems` and `maxItems`. */
const MAX_COUNTED_ITEMS = 10_000

/** Schemas that apply together to one value, and their locations. */
type SchemaLocation = readonly { readonly schema: unknown; readonly path: string }[]

/**
 * Compiles a schema to a network of the valid JSON values, in one compact form: properties in schema order, optional
 * single spaces, and numbers of at most 15 digits.
 *
 * Throws `INF_CONSTRAINT_UNSUPPORTED`, with keyword and location, outside the supported subset.
 */
export function compileJsonSchema(schema: Schema): Network {
  try {
    return new SchemaCompiler(schema).compile()
  } catch (error) {
    if (error instanceof AutomatonTooLarge || error instanceof NetworkTooLarge) {
      throw unsupported('#', `the schema is too large: ${error.message}`)
    }
    throw error
  }
}

/** Returns a network of all JSON objects. */
export function anyJsonObject(): Network {
  return compileJsonSchema({ type: 'object' })
}

class SchemaCompiler {
  readonly #sources: SchemaSources
  readonly #root: Schema
  readonly #json = new JsonNetwork()
  readonly #rules = new Map<string, number>()
  /** Rules that have an id but no content yet, which allows recursion. */
  readonly #pending: { readonly rule: NetworkRule; readonly sources: readonly Source[] }[] = []

  constructor(schema: Schema) {
    this.#root = schema
    this.#sources = new SchemaSources(schema)
  }

  compile(): Network {
    const { network } = this.#json
    const first = network.rules[network.rule()] as NetworkRule
    network.call(first.start, this.#rule([{ schema: this.#root, path: '#' }]), first.end)
    for (let task = this.#pending.pop(); task !== undefined; task = this.#pending.pop()) {
      this.#fill(task.rule, task.sources)
    }
    if (!network.prune()) throw unsupported('#', 'the schema accepts no value that the engine can generate')
    return network
  }

  /** Returns the rule for values that are valid against all of the schemas. */
  #rule(location: SchemaLocation): number {
    const { network } = this.#json
    const sources = this.#sources.gather(location)
    if (sources?.length === 0) return this.#json.anyValue()
    const key = sources === null ? 'never' : this.#sources.key(sources)
    const known = this.#rules.get(key)
    if (known !== undefined) return known
    const rule = network.rule()
    this.#rules.set(key, rule)
    if (sources !== null) this.#pending.push({ rule: network.rules[rule] as NetworkRule, sources })
    return rule
  }

  #fill({ start, end }: NetworkRule, sources: readonly Source[]): void {
    for (const source of sources) checkKeywords(source)
    const alternatives = this.#sources.alternatives(sources)
    if (alternatives !== null) {
      for (const alternative of alternatives) this.#json.network.call(start, this.#rule(alternative), end)
      return
    }
    const values = allowedValues(sources)
    if (values !== null) {
      const valid = values.filter(value => this.#isValid(value, sources))
      this.#json.read(start, literals(valid.map(value => JSON.stringify(value))), end)
      return
    }
    for (const type of allowedTypes(sources)) this.#readType(type, sources, start, end)
  }

  #readType(type: JsonType, sources: readonly Source[], start: number, end: number): void {
    const json = this.#json
    if (type === 'null') json.readText(start, 'null', end)
    else if (type === 'boolean') for (const text of ['true', 'false']) json.readText(start, text, end)
    else if (type === 'string') this.#readString(sources, start, end)
    else if (type === 'array') json.readArray(start, this.#items(sources), end)
    else if (type === 'object') this.#readObject(sources, start, end)
    else json.read(start, this.#numbers(type === 'integer', sources), end)
  }

  #numbers(integer: boolean, sources: readonly Source[]): Dfa | null {
    const bounds = numberBounds(sources)
    const bounded = Object.values(bounds).some(bound => bound !== undefined)
    return bounded ? numbers(integer, bounds) : unboundedNumbers(integer)
  }

  #readString(sources: readonly Source[], start: number, end: number): void {
    const { min, max } = lengths(sources)
    if (min > max) return
    const shapes = stringShapes(sources)
    if (shapes.length === 0) {
      this.#json.readString(start, end, { min, max })
      return
    }
    if (min > 0 || Number.isFinite(max)) {
      const path = sources[0]?.path ?? '#'
      shapes.push(stringsOf(`[^]{${min},${Number.isFinite(max) ? max : ''}}`, path, 'whole'))
    }
    const all = shapes.reduce((a, b) => (a === null || b === null ? null : combine(a, b, 'both')))
    this.#json.read(start, all, end)
  }

  /** True if a value of `enum` or `const` satisfies the other keywords; its type was checked before. */
  #isValid(value: unknown, sources: readonly Source[]): boolean {
    const type = typeOfValue(value)
    if (type === 'array' || type === 'object') checkNothingInside(sources, type)
    if (typeof value === 'number') return isWithin(value, numberBounds(sources))
    if (typeof value !== 'string') return true
    const { min, max } = lengths(sources)
    const length = [...value].length
    return min <= length && length <= max && stringShapes(sources).every(dfa => dfa?.matches(JSON.stringify(value)))
  }

  #readObject(sources: readonly Source[], start: number, end: number): void {
    const needed = required(sources)
    const explicit = sources.some(({ schema }) => schema.additionalProperties !== undefined)
    const declared = new Set(sources.flatMap(source => Object.keys(properties(source))))
    // Unless the schema states it, additional properties are allowed only if it names no properties.
    const others = explicit || declared.size === 0 ? this.#otherProperties(sources) : null
    const undeclared = [...needed].filter(name => !declared.has(name))
    const known = [...declared, ...undeclared].map(
      (name): Property => ({
        name,
        required: needed.has(name),
        value: this.#rule(sources.flatMap(source => propertySchema(source, name)))
      })
    )
    this.#json.readObject(start, known, others, end)
  }

  #otherProperties(sources: readonly Source[]): number | null {
    const schemas = sources.flatMap(otherSchema)
    return schemas.some(({ schema }) => schema === false) ? null : this.#rule(schemas)
  }

  #items(sources: readonly Source[]): Items {
    const min = limit(sources, 'minItems', Math.max, true) ?? 0
    const max = limit(sources, 'maxItems', Math.min, true) ?? Number.POSITIVE_INFINITY
    for (const [keyword, count] of Object.entries({ minItems: min, maxItems: max })) {
      if (count > MAX_COUNTED_ITEMS && Number.isFinite(count)) {
        const path = sources.find(({ schema }) => schema[keyword] === count)?.path ?? '#'
        throw unsupported(pointer(path, keyword), `the limit is ${MAX_COUNTED_ITEMS} items`)
      }
    }
    const named = Math.max(...sources.map(source => prefixItems(source).length))
    const first = Array.from({ length: named }, (_, i) => this.#rule(sources.flatMap(source => itemSchema(source, i))))
    const explicit = sources.some(({ schema }) => schema.items !== undefined)
    const schemas = sources.flatMap(source => itemSchema(source, Number.POSITIVE_INFINITY))
    const closed = schemas.some(({ schema }) => schema === false) || (named > 0 && !explicit && min <= named)
    const rest = closed ? null : this.#rule(schemas)
    return { first, rest, min, max: rest === null ? Math.min(max, named) : max }
  }
}

function numberBounds(sources: readonly Source[]): NumberBounds {
  return {
    minimum: limit(sources, 'minimum', Math.max),
    maximum: limit(sources, 'maximum', Math.min),
    exclusiveMinimum: limit(sources, 'exclusiveMinimum', Math.max),
    exclusiveMaximum: limit(sources, 'exclusiveMaximum', Math.min)
  }
}

function lengths(sources: readonly Source[]): { readonly min: number; readonly max: number } {
  return {
    min: limit(sources, 'minLength', Math.max, true) ?? 0,
    max: limit(sources, 'maxLength', Math.min, true) ?? Number.POSITIVE_INFINITY
  }
}

/** Returns automata of the strings, including quotes, that match `pattern` and `format`. */
function stringShapes(sources: readonly Source[]): (Dfa | null)[] {
  return [
    ...texts(sources, 'pattern').map(({ text, path }) => stringsOf(text, path, 'search')),
    ...texts(sources, 'format').map(({ text, path }) => stringsOfFormat(text, path))
  ]
}

function stringsOf(pattern: string, path: string, match: 'whole' | 'search'): Dfa | null {
  return compileRegex(pattern, { path, match, encoding: jsonStringBytes, around: '"' })
}

/** Automata by format, built once: there are few, and many schemas use them. */
const ofFormat = new Map<string, Dfa | null>()

function stringsOfFormat(name: string, path: string): Dfa | null {
  const known = ofFormat.get(name)
  if (known !== undefined) return known
  const pattern = formats.get(name)
  if (pattern === undefined) {
    const names = [...formats.keys()].join(', ')
    throw unsupported(path, `the format ${JSON.stringify(name)} is not supported; supported: ${names}`)
  }
  const strings = stringsOf(pattern, path, 'whole')
  ofFormat.set(name, strings)
  return strings
}

/** Returns the schemas that one source applies to a property, by name or as an additional one. */
function propertySchema(source: Source, name: string): SchemaLocation {
  const named = properties(source)
  if (!Object.hasOwn(named, name)) return otherSchema(source)
  return [{ schema: named[name], path: pointer(source.path, 'properties', name) }]
}

function otherSchema({ schema, path }: Source): SchemaLocation {
  const { additionalProperties = true } = schema
  return [{ schema: additionalProperties, path: pointer(path, 'additionalProperties') }]
}

function itemSchema(source: Source, index: number): SchemaLocation {
  const prefix = prefixItems(source)
  const { items = true } = source.schema
  return index < prefix.length
    ? [{ schema: prefix[index], path: pointer(source.path, 'prefixItems', index) }]
    : [{ schema: items, path: pointer(source.path, 'items') }]
}
