/** A TOML table as plain data. */
export type Table = Readonly<Record<string, unknown>>
export type Path = readonly string[]

/** In place of a value: removes what lower layers say, so that the default holds. */
export const UNSET = '!unset'

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Tables merge, everything else replaces. {@link UNSET} is kept as a value, so that it can remove something from a layer
 * below; {@link withoutUnset} takes it out at the end. Keys such as `__proto__` stay ordinary keys.
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

/** The value at a path; undefined when absent, {@link UNSET} when something on the way is not a table. */
export function lookup(table: Table, path: Path): unknown {
  let value: unknown = table
  for (const key of path) {
    if (!isTable(value)) return UNSET
    if (!Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** As {@link lookup}, into lists too. */
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

/** Where a value was written, ready to be shown. */
export interface Place {
  /** `svc.toml:3:1`, the name of a variable, or `--set KEY`. */
  readonly text: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
}

/** What one layer says about one owner (the kernel, a plugin). */
export interface View {
  readonly layer: string
  readonly table: Table
  place(path: Path): Place
}

export interface Mention {
  readonly view: View
  readonly value: unknown
}

/** Every layer that says something about a path, lowest first: the last one holds. */
export function mentions(views: readonly View[], path: Path): readonly Mention[] {
  return views.flatMap(view => {
    const value = lookup(view.table, path)
    return value === undefined ? [] : [{ view, value }]
  })
}

/** The layer that a value, or the nearest thing around it, comes from. */
export function originOf(views: readonly View[], path: Path): Mention | undefined {
  for (let length = path.length; length > 0; length--) {
    const last = mentions(views, path.slice(0, length)).at(-1)
    if (last !== undefined && last.value !== UNSET) return last
  }
  return undefined
}
