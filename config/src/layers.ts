/** A TOML table as plain data. */
export type Table = Readonly<Record<string, unknown>>
export type Path = readonly string[]

/** From lowest to highest. */
export type Layer = 'defaults' | 'user' | 'project' | 'profile' | 'local' | 'environment' | 'set'

/** A value that removes the values of lower layers, so that the default holds. */
export const UNSET = '!unset'

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Merges tables; every other value replaces. {@link UNSET} stays a value, so that it can remove a value of a layer below;
 * {@link withoutUnset} drops it at the end. Keys such as `__proto__` stay ordinary keys.
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

/** Returns the value at a path. Undefined if absent, {@link UNSET} if a value on the way is not a table. */
export function lookup(table: Table, path: Path): unknown {
  let value: unknown = table
  for (const key of path) {
    if (!isTable(value)) return UNSET
    if (!Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Like {@link lookup}, also into lists. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (isTable(at) ? lookup(at, [key]) : Array.isArray(at) ? at[Number(key)] : undefined),
    value
  )
}

/** A table with one value. */
export function nest(path: Path, value: unknown): Table {
  return path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value) as Table
}

/** Where a value is written, as text for messages. */
export interface Place {
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
  place(path: Path): Place
}

export interface Mention {
  readonly view: View
  readonly value: unknown
}

/** Returns every layer that has a value at a path, lowest first. The last one holds. */
export function mentions(views: readonly View[], path: Path): readonly Mention[] {
  return views.flatMap(view => {
    const value = lookup(view.table, path)
    return value === undefined ? [] : [{ view, value }]
  })
}

/** Returns the layer that gives a value, or the nearest table around it. */
export function originOf(views: readonly View[], path: Path): Mention | undefined {
  for (let length = path.length; length > 0; length--) {
    const last = mentions(views, path.slice(0, length)).at(-1)
    if (last !== undefined && last.value !== UNSET) return last
  }
  return undefined
}
