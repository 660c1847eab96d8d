import { combine, type Dfa } from './dfa.ts'
import { literals, otherNames } from './json-text.ts'
import { allowedValues } from './schema-keywords.ts'
import { annotations, isObject, pointer, type Source } from './schema-sources.ts'
import { lengthShape, lengths, stringShapes, stringsOf } from './string-shapes.ts'
import { unsupported } from './unsupported.ts'

/** Schema of the properties whose names match a pattern. */
export interface PatternProperty {
  readonly source: Source
  readonly schema: unknown
  readonly path: string
  /** Automaton of the names, including quotes; null if no name matches. */
  readonly names: Dfa | null
}

/** Maximum patterns of one object: each doubles the kinds of names. */
const MAX_PATTERNS = 5

/** Keywords that a schema of names may have. */
const NAME_KEYWORDS: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', 'pattern', 'format', 'minLength', 'maxLength']
])

export function patternProperties(sources: readonly Source[]): readonly PatternProperty[] {
  const found = sources.flatMap(source => {
    const { patternProperties: value = {} } = source.schema
    const path = pointer(source.path, 'patternProperties')
    if (!isObject(value)) throw unsupported(path, 'it must be an object')
    return Object.entries(value).map(([pattern, schema]) => {
      const location = pointer(path, pattern)
      return { source, schema, path: location, names: stringsOf(pattern, location, 'search') }
    })
  })
  if (found.length > MAX_PATTERNS) {
    throw unsupported(found[0]?.path ?? '#', `more than ${MAX_PATTERNS} patterns of names are not supported`)
  }
  return found
}

/**
 * Returns automata that the names of all properties must match, by `propertyNames`; null if no name is allowed. `gather`
 * resolves references.
 */
export function nameShapes(
  sources: readonly Source[],
  gather: (values: readonly { readonly schema: unknown; readonly path: string }[]) => readonly Source[] | null
): readonly Dfa[] | null {
  const stated = sources.filter(({ schema }) => schema.propertyNames !== undefined)
  const found = gather(
    stated.map(({ schema, path }) => ({ schema: schema.propertyNames, path: pointer(path, 'propertyNames') }))
  )
  if (found === null) return null
  for (const { schema, path } of found) {
    const keyword = Object.keys(schema).find(each => !NAME_KEYWORDS.has(each) && !annotations.has(each))
    if (keyword !== undefined) {
      throw unsupported(pointer(path, keyword), `"${keyword}" in the schema of names is not supported`)
    }
    if (![schema.type ?? 'string'].flat().includes('string')) return null
  }
  const shapes = stringShapes(found)
  const values = allowedValues(found)
  if (values !== null) {
    shapes.push(literals(values.flatMap(value => (typeof value === 'string' ? [JSON.stringify(value)] : []))))
  }
  const range = lengths(found)
  if (range.min > range.max) return null
  if (range.min > 0 || Number.isFinite(range.max)) shapes.push(lengthShape(range, found[0]?.path ?? '#'))
  return shapes.every(shape => shape !== null) ? shapes : null
}

/** Kind of names: those that match the same patterns. */
export interface NameKind {
  readonly names: Dfa
  readonly patterns: readonly PatternProperty[]
}

/** Splits the names that are not `known`, and match all `shapes`, by the patterns that they match. */
export function nameKinds(
  known: readonly string[],
  shapes: readonly Dfa[],
  patterns: readonly PatternProperty[]
): readonly NameKind[] {
  const others = otherNames(known)
  let kinds: NameKind[] = others === null ? [] : [{ names: others, patterns: [] }]
  const restricted = (kind: NameKind, shape: Dfa, how: 'both' | 'without', more: readonly PatternProperty[]) => {
    const names = combine(kind.names, shape, how)
    return names === null ? [] : [{ names, patterns: [...kind.patterns, ...more] }]
  }
  for (const shape of shapes) kinds = kinds.flatMap(kind => restricted(kind, shape, 'both', []))
  for (const pattern of patterns) {
    const { names } = pattern
    if (names === null) continue
    kinds = kinds.flatMap(kind => [
      ...restricted(kind, names, 'both', [pattern]),
      ...restricted(kind, names, 'without', [])
    ])
  }
  return kinds
}

/** True if all automata accept the name. */
export function isName(name: string, shapes: readonly (Dfa | null)[]): boolean {
  return shapes.every(shape => shape?.matches(JSON.stringify(name)) === true)
}
