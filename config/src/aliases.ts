import type { JsonSchema } from '@svc/plugin-sdk'
import { isTable, lookup, merge, nest, type Path, type Table, type View } from './layers.ts'
import type { Declared } from './schema.ts'

/** A key that names a setting by an alias. */
export interface AliasUse {
  readonly setting: Declared
  /** Path of the alias within the section. */
  readonly alias: Path
}

/** Returns the aliases of a schema: other names of the setting in its table. */
export function aliasesOf(schema: JsonSchema): readonly string[] {
  const names = schema['x-aliases']
  return Array.isArray(names) ? names.filter(name => typeof name === 'string') : []
}

/** Returns the paths of a setting's aliases. */
export function aliasPaths({ path, aliases }: Declared): readonly Path[] {
  return aliases.map(alias => [...path.slice(0, -1), alias])
}

/**
 * Returns a view in which every value has the name of its setting instead of an alias. A value under the setting's own
 * name takes precedence over one under an alias, and an earlier alias over a later one: these are `ignored`. Positions
 * are those of the keys as written.
 */
export function underOwnNames(
  view: View,
  declared: readonly Declared[]
): { readonly view: View; readonly ignored: readonly AliasUse[] } {
  let { table } = view
  const used = new Map<string, AliasUse>()
  const ignored: AliasUse[] = []
  for (const setting of declared) {
    for (const alias of aliasPaths(setting)) {
      if (!isTable(alias.length === 1 ? table : lookup(table, alias.slice(0, -1)))) continue
      const value = lookup(table, alias)
      if (value === undefined) continue
      table = without(table, alias)
      if (lookup(table, setting.path) !== undefined) ignored.push({ setting, alias })
      else {
        table = merge(table, nest(setting.path, value))
        used.set(JSON.stringify(setting.path), { setting, alias })
      }
    }
  }
  if (used.size === 0 && ignored.length === 0) return { view, ignored }
  const place = (path: Path) => {
    for (let length = path.length; length > 0; length--) {
      const use = used.get(JSON.stringify(path.slice(0, length)))
      if (use !== undefined) return view.place([...use.alias, ...path.slice(length)])
    }
    return view.place(path)
  }
  return { view: { layer: view.layer, table, place }, ignored }
}

/** Returns a table without the value at a path. */
function without(table: Table, [key = '', ...rest]: Path): Table {
  const entries = Object.entries(table).flatMap(([name, value]): [string, unknown][] => {
    if (name !== key) return [[name, value]]
    return rest.length === 0 || !isTable(value) ? [] : [[name, without(value, rest)]]
  })
  return Object.fromEntries(entries)
}
