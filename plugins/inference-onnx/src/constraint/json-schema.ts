import { numbers } from './decimal.ts'
import { AutomatonTooLarge, combine, type Dfa } from './dfa.ts'
import { type Count, type Items, JsonNetwork, type Property, unboundedNumbers } from './json-network.ts'
import { literals } from './json-text.ts'
import { type Network, type NetworkRule, NetworkTooLarge } from './network.ts'
import { allMultiples, isNumberAllowed, numberBounds } from './number-limits.ts'
import { isName, nameKinds, nameShapes, type PatternProperty, patternProperties } from './property-names.ts'
import {
  allowedTypes,
  allowedValues,
  checkKeywords,
  checkNothingInside,
  excluded,
  type JsonType,
  limit,
  needsUniqueItems,
  prefixItems,
  properties,
  required,
  typeOfValue
} from './schema-keywords.ts'
import { pointer, type Schema, SchemaSources, type Source } from './schema-sources.ts'
import { lengthShape, lengths, stringShapes, stringsWithout } from './string-shapes.ts'
import { unsupported } from './unsupported.ts'
import { canonical, valuesOf } from './value-lists.ts'

/** Maximum value of `minItems` and `maxItems`. */
const MAX_COUNTED_ITEMS = 10_000
/** Maximum values of unique items: each doubles the number of sets. */
const MAX_DISTINCT_VALUES = 12

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
    // toestub-ignore(stringly-typed-enum) - JsonType is a union of these texts
    if (type === 'null' || type === 'boolean') {
      const values = (type === 'null' ? [null] : [true, false]).filter(each => !excluded(sources).values.includes(each))
      for (const value of values) json.readText(start, String(value), end)
    } else if (type === 'string') this.#readString(sources, start, end)
    else if (type === 'array') this.#readArray(sources, start, end)
    else if (type === 'object') this.#readObject(sources, start, end)
    else json.read(start, this.#numbers(type === 'integer', sources), end)
  }

  #numbers(integer: boolean, sources: readonly Source[]): Dfa | null {
    const bounds = numberBounds(sources)
    const multiples = allMultiples(sources)
    const bounded = multiples !== null || Object.values(bounds).some(bound => bound !== undefined)
    return bounded ? numbers(integer, bounds, multiples) : unboundedNumbers(integer)
  }

  #readString(sources: readonly Source[], start: number, end: number): void {
    const { min, max } = lengths(sources)
    if (min > max) return
    const shapes = stringShapes(sources)
    const path = sources[0]?.path ?? '#'
    const others = excluded(sources).values.filter(value => typeof value === 'string')
    if (others.length > 0) shapes.push(stringsWithout(others, path))
    if (shapes.length === 0) {
      this.#json.readString(start, end, { min, max })
      return
    }
    if (min > 0 || Number.isFinite(max)) shapes.push(lengthShape({ min, max }, path))
    const all = shapes.reduce((a, b) => (a === null || b === null ? null : combine(a, b, 'both')))
    this.#json.read(start, all, end)
  }

  /** True if a value of `enum` or `const` satisfies the other keywords; its type was checked before. */
  #isValid(value: unknown, sources: readonly Source[]): boolean {
    const type = typeOfValue(value)
    if (type === 'array' || type === 'object') checkNothingInside(sources, type)
    if (typeof value === 'number') return isNumberAllowed(value, numberBounds(sources), allMultiples(sources))
    if (typeof value !== 'string') return true
    const { min, max } = lengths(sources)
    const length = [...value].length
    return min <= length && length <= max && stringShapes(sources).every(dfa => dfa?.matches(JSON.stringify(value)))
  }

  #readObject(sources: readonly Source[], start: number, end: number): void {
    const needed = required(sources)
    const patterns = patternProperties(sources)
    const shapes = nameShapes(sources, values => this.#sources.gather(values))
    const declared = new Set(sources.flatMap(source => Object.keys(properties(source))))
    const count = {
      min: limit(sources, 'minProperties', Math.max, true) ?? 0,
      max: limit(sources, 'maxProperties', Math.min, true) ?? Number.POSITIVE_INFINITY
    }
    const undeclared = [...needed].filter(name => !declared.has(name))
    const possible = (name: string) => shapes !== null && isName(name, shapes)
    if ([...needed].some(name => !possible(name)) || count.min > count.max) return
    const known = [...declared, ...undeclared].filter(possible).map(
      (name): Property => ({
        name,
        required: needed.has(name),
        value: this.#rule(sources.flatMap(source => propertySchema(source, name, patterns)))
      })
    )
    // Unless the schema states it, additional properties are allowed only if it names no properties.
    const explicit = sources.some(({ schema }) => schema.additionalProperties !== undefined)
    const isOpen = explicit || (declared.size === 0 && patterns.length === 0)
    const names = [...declared, ...undeclared]
    const mayOther = shapes !== null && (patterns.length > 0 || (isOpen && !this.#closesOthers(sources)))
    const others = (mayOther ? nameKinds(names, shapes, patterns) : []).flatMap(kind => {
      if (kind.patterns.length === 0 && !isOpen) return []
      const schemas = sources.flatMap(source => otherSchema(source, kind.patterns))
      return schemas.some(({ schema }) => schema === false) ? [] : [{ names: kind.names, value: this.#rule(schemas) }]
    })
    this.#json.readObject(start, known, others, end, others.length > 0 ? openCount(sources, count, needed.size) : count)
  }

  /** True if no other properties are allowed, so that their names need no automata. */
  #closesOthers(sources: readonly Source[]): boolean {
    return sources.some(({ schema }) => schema.additionalProperties === false)
  }

  #readArray(sources: readonly Source[], start: number, end: number): void {
    const items = this.#items(sources)
    const contained = this.#contained(sources)
    if (needsUniqueItems(sources) && items.max > 1) {
      if (contained !== null) throw unsupported(contained.path, '"contains" with "uniqueItems" is not supported')
      const path = sources.find(({ schema }) => schema.uniqueItems === true)?.path ?? '#'
      this.#json.readDistinct(start, this.#distinctValues(sources, pointer(path, 'uniqueItems')), items, end)
    } else if (contained === null) this.#json.readArray(start, items, end)
    else {
      const { first, rest } = items
      const both = (index: number) => this.#rule([...sources.flatMap(source => itemSchema(source, index)), contained])
      this.#json.readContaining(
        start,
        items,
        {
          first: first.map((_, index) => both(index)),
          rest: rest === null ? null : both(Number.POSITIVE_INFINITY),
          min: contained.min
        },
        end
      )
    }
  }

  /** Returns the schema of `contains` and its minimum; null if there is none. */
  #contained(sources: readonly Source[]) {
    const [stated, other] = sources.filter(({ schema }) => schema.contains !== undefined)
    if (stated === undefined) return null
    const path = pointer(stated.path, 'contains')
    if (other !== undefined) throw unsupported(pointer(other.path, 'contains'), 'a second "contains" is not supported')
    const min = limit([stated], 'minContains', Math.max, true) ?? 1
    if (min > MAX_COUNTED_ITEMS) {
      throw unsupported(pointer(stated.path, 'minContains'), `the limit is ${MAX_COUNTED_ITEMS} items`)
    }
    return min === 0 ? null : { schema: stated.schema.contains, path, min }
  }

  /** Returns the values of items that must be different. Throws if they are not few and known. */
  #distinctValues(sources: readonly Source[], path: string): readonly unknown[] {
    const isPlain = sources.every(source => prefixItems(source).length === 0)
    const values = isPlain
      ? this.#finiteValues(
          sources.flatMap(source => itemSchema(source, 0)),
          0
        )
      : null
    const different = values === null ? null : [...new Map(values.map(value => [canonical(value), value])).values()]
    if (different !== null && different.length <= MAX_DISTINCT_VALUES) return different
    throw unsupported(
      path,
      `items must be of at most ${MAX_DISTINCT_VALUES} known values, as by "enum", because the engine does not compare items`,
      'List the values with enum, or leave uniqueItems out.'
    )
  }

  /** Returns all values of a schema; null if they are too many, or not known. */
  #finiteValues(location: SchemaLocation, depth: number): readonly unknown[] | null {
    const sources = this.#sources.gather(location)
    if (sources === null) return []
    for (const source of sources) checkKeywords(source)
    const alternatives = this.#sources.alternatives(sources)
    if (alternatives !== null) {
      if (depth > 8) return null
      const parts = alternatives.map(alternative => this.#finiteValues(alternative, depth + 1))
      return parts.every(part => part !== null) ? parts.flat() : null
    }
    const values = sources.length === 0 ? null : allowedValues(sources)
    if (values !== null) return values.filter(value => this.#isValid(value, sources))
    const parts = sources.length === 0 ? [null] : [...allowedTypes(sources)].map(type => valuesOf(type, sources))
    return parts.every(part => part !== null) ? parts.flat() : null
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

/**
 * Returns the number of properties of an object that may have others. A name among the others may occur twice and then
 * counts once, so a minimum is supported only if the required properties, or any one property, meet it.
 */
function openCount(sources: readonly Source[], { min, max }: Count, needed: number): Count {
  if (min <= needed) return { min: 0, max }
  if (min === 1) return { min, max }
  const path = sources.find(({ schema }) => schema.minProperties === min)?.path ?? '#'
  throw unsupported(
    pointer(path, 'minProperties'),
    'a minimum above the number of required properties is supported only without additional properties'
  )
}

/** Returns the schemas that one source applies to a property, by name, by patterns, or as an additional one. */
function propertySchema(source: Source, name: string, patterns: readonly PatternProperty[]): SchemaLocation {
  const matching = patterns.filter(({ names }) => isName(name, [names]))
  const named = properties(source)
  if (!Object.hasOwn(named, name)) return otherSchema(source, matching)
  return [
    { schema: named[name], path: pointer(source.path, 'properties', name) },
    ...matching.filter(pattern => pattern.source === source)
  ]
}

/** Returns the schemas that one source applies to a property that it does not name. `matching`: patterns of the name. */
function otherSchema(source: Source, matching: readonly PatternProperty[]): SchemaLocation {
  const own = matching.filter(pattern => pattern.source === source)
  if (own.length > 0) return own
  const { additionalProperties = true } = source.schema
  return [{ schema: additionalProperties, path: pointer(source.path, 'additionalProperties') }]
}

function itemSchema(source: Source, index: number): SchemaLocation {
  const prefix = prefixItems(source)
  const { items = true } = source.schema
  return index < prefix.length
    ? [{ schema: prefix[index], path: pointer(source.path, 'prefixItems', index) }]
    : [{ schema: items, path: pointer(source.path, 'items') }]
}
