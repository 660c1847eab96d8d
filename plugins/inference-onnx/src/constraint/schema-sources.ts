import { spendSteps } from './compile-limits.ts'
import { NetworkTooLarge } from './network.ts'
import { unsupported } from './unsupported.ts'

export type Schema = Readonly<Record<string, unknown>>

/** Schema object and its location: a JSON Pointer after `#`. */
export interface Source {
  readonly schema: Schema
  readonly path: string
}

/** Keywords that apply other schemas to the same value. */
export const structure: ReadonlySet<string> = new Set(['$ref', 'allOf', 'anyOf', 'oneOf'])

/** Keywords without effect on validity. */
export const annotations: ReadonlySet<string> = new Set([
  '$comment',
  '$defs',
  '$schema',
  'default',
  'definitions',
  'deprecated',
  'description',
  'examples',
  'readOnly',
  'title',
  'writeOnly'
])

/** Maximum combinations of alternatives at one location. */
const MAX_ALTERNATIVES = 256
/** Maximum schema objects visited over all combinations, which limits the time. */
const MAX_VISITS = 100_000

export function pointer(path: string, ...keys: readonly (string | number)[]): string {
  return [path, ...keys.map(key => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/')
}

export function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Resolves the schemas of one value: merges `$ref` and `allOf`, and lists the alternatives of `anyOf` and `oneOf`. */
export class SchemaSources {
  readonly #root: Schema
  readonly #identities = new Map<Schema, number>()
  readonly #stripped = new Map<Schema, Schema>()
  #visits = 0

  constructor(root: Schema) {
    this.#root = root
  }

  /** Returns a key that is equal for the same schema objects in any order. */
  key(sources: readonly Source[]): string {
    return sources
      .map(({ schema }) => {
        const known = this.#identities.get(schema) ?? this.#identities.size
        this.#identities.set(schema, known)
        return known
      })
      .sort((a, b) => a - b)
      .join()
  }

  /** Returns all schema objects that apply together; null if one of them is `false`. */
  gather(values: readonly { readonly schema: unknown; readonly path: string }[]): readonly Source[] | null {
    const seen = new Set<Schema>()
    const found: Source[] = []
    let never = false
    // No recursion: references may form a long chain.
    const open: (readonly [schema: unknown, path: string])[] = values
      .map(({ schema, path }) => [schema, path] as const)
      .reverse()
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [schema, path] = next
      spendSteps(10)
      if (schema === false) never = true
      if (typeof schema === 'boolean') continue
      if (!isObject(schema)) throw unsupported(path, 'a schema must be an object or a boolean')
      if (seen.has(schema)) continue
      seen.add(schema)
      // Objects that contain only references are omitted, so that locations with equal targets get equal keys.
      if (!Object.keys(schema).every(keyword => annotations.has(keyword) || ['$ref', 'allOf'].includes(keyword))) {
        found.push({ schema, path })
      }
      for (const part of list(schema, path, 'allOf').toReversed()) open.push(part)
      if (schema.$ref === undefined) continue
      const target = this.#resolve(schema.$ref, pointer(path, '$ref'))
      open.push([target.schema, target.path])
    }
    this.#visits += seen.size
    if (this.#visits > MAX_VISITS)
      throw new NetworkTooLarge(`its alternatives visit more than ${MAX_VISITS} schema objects`)
    return never ? null : found
  }

  /** Returns one list of sources for each combination of alternatives; null if there are none. */
  alternatives(sources: readonly Source[]): readonly (readonly { schema: unknown; path: string }[])[] | null {
    const choices = sources.flatMap(({ schema, path }) =>
      // oneOf is treated as anyOf: overlaps cannot be excluded while a value is generated.
      ['anyOf', 'oneOf'].flatMap(keyword => {
        const options = list(schema, path, keyword)
        return schema[keyword] === undefined
          ? []
          : [options.map(([option, location]) => ({ schema: option, path: location }))]
      })
    )
    if (choices.length === 0) return null
    const count = choices.reduce((product, options) => product * options.length, 1)
    if (count > MAX_ALTERNATIVES) {
      const location = choices[0]?.[0]?.path ?? '#'
      throw unsupported(location, `${count} combinations of alternatives exceed the limit of ${MAX_ALTERNATIVES}`)
    }
    const common = sources.map(({ schema, path }) => ({ schema: this.#withoutChoices(schema), path }))
    return choices.reduce<{ schema: unknown; path: string }[][]>(
      (combinations, options) => combinations.flatMap(chosen => options.map(option => [...chosen, option])),
      [common]
    )
  }

  /** Returns the schema without `$ref` and alternatives: always the same object, so that recursion is detected. */
  #withoutChoices(schema: Schema): Schema {
    let rest = this.#stripped.get(schema)
    if (rest === undefined) {
      const kept = Object.entries(schema).filter(([keyword]) => !structure.has(keyword))
      rest = kept.length === Object.keys(schema).length ? schema : Object.fromEntries(kept)
      this.#stripped.set(schema, rest)
    }
    return rest
  }

  #resolve(reference: unknown, path: string): { schema: unknown; path: string } {
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) {
      throw unsupported(
        path,
        `${JSON.stringify(reference)} is not supported: use a pointer into the same schema, such as #/$defs/name`
      )
    }
    let schema: unknown = this.#root
    for (const step of reference.split('/').slice(1)) {
      const key = unescapeStep(step)
      schema = isObject(schema) || Array.isArray(schema) ? ownValue(schema, key) : undefined
    }
    if (schema === undefined) throw unsupported(path, `${JSON.stringify(reference)} does not exist`)
    return { schema, path: reference }
  }
}

function unescapeStep(step: string): string {
  const plain = /%(?![\da-fA-F]{2})/.test(step) ? step : decodeURIComponent(step)
  return plain.replaceAll('~1', '/').replaceAll('~0', '~')
}

function ownValue(holder: object, key: string): unknown {
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined
}

/** Returns the entries of a keyword whose value is a list of schemas, with their locations. */
function list(schema: Schema, path: string, keyword: string): (readonly [unknown, string])[] {
  const value = schema[keyword]
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length === 0)
    throw unsupported(pointer(path, keyword), 'it must be a list of at least one schema')
  return value.map((entry, i) => [entry, pointer(path, keyword, i)] as const)
}
