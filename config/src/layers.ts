/** A TOML table as plain data. */
export type Table = Readonly<Record<string, unknown>>
export type Path = readonly string[]

/** Layers from lowest to highest precedence. */
export type Layer = 'defaults' | 'user' | 'project' | 'profile' | 'local' | 'environment' | 'set'

/** Value that removes the values of lower layers, so that the default applies. */
export const UNSET = '!unset'

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Merges two tables recursively; any other value of `higher` replaces that of `lower`. {@link UNSET} stays in the
 * result, since it may still remove a value of a lower layer; {@link withoutUnset} drops it at the end. Keys such as
 * `__proto__` are ordinary keys.
 */
export function merge(lower: Table, higher: Table): Table {
  const merged = new Map(Object.entries(lower))
  for (const [key, value] of Object.entries(higher)) {
    const below = merged.get(key)
    merged.set(key, isTable(value) && isTable(below) ? merge(below, value) : value)
  }
  return Object.fromEntries(merged)
}

export function withoutUnset(table: Table): Table {
  return Object.fromEntries(
    Object.entries(table)
      .filter(([, value]) => value !== UNSET)
      .map(([key, value]) => [key, isTable(value) ? withoutUnset(value) : value])
  )
}

/** Returns the value at a path: undefined if absent, {@link UNSET} if a parent is not a table. */
export function lookup(table: Table, path: Path): unknown {
  let value: unknown = table
  for (const key of path) {
    if (!isTable(value)) return UNSET
    if (!Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Like {@link lookup}, but also follows list indices. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (isTable(at) ? lookup(at, [key]) : Array.isArray(at) ? at[Number(key)] : undefined),
    value
  )
}

/** Returns a table that holds one value, at a path. */
export function nest(path: Path, value: unknown): Table {
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value) as Table
}

/** Location of a value in a source. `text` is for messages. */
export interface SourcePosition {
  /** `svc.toml:3:1`, the name of a variable, or `--set KEY`. */
  readonly text: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
}

/** The values of one layer, for one section or for a whole file. */
export interface View {
  readonly layer: Layer
  readonly table: Table
  place(path: Path): SourcePosition
}

export interface Mention {
  readonly view: View
  readonly value: unknown
}

/** Returns every layer that has a value at a path, lowest first. The last value applies. */
export function mentions(views: readonly View[], path: Path): readonly Mention[] {
  return views.flatMap(view => {
    const value = lookup(view.table, path)
    return value === undefined ? [] : [{ view, value }]
  })
}

/** Returns the layer that sets the value at a path, or else its nearest parent table. */
export function originOf(views: readonly View[], path: Path): Mention | undefined {
  for (let length = path.length; length > 0; length--) {
    const last = mentions(views, path.slice(0, length)).at(-1)
    if (last !== undefined && last.value !== UNSET) return last
  }
  return undefined
}
