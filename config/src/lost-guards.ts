import { isDeepStrictEqual } from 'node:util'
import { isTable, lookup, type Path } from './layers.ts'
import type { Resolved } from './resolve.ts'
import { keyText } from './toml.ts'

/**
 * Returns the keys of guards that have a value in `before` and none, an empty one or the default in `after`. A guard is
 * a secret, or a setting with `x-guards`. Sections that exist in only one snapshot are ignored.
 */
export function lostGuards(before: Resolved, after: Resolved): readonly string[] {
  if (before === after) return []
  return after.sections.flatMap(section => {
    const earlier = before.section(section.name)
    if (earlier === undefined) return []
    const guards = section.declared.filter(({ path, schema, guards }) => {
      const was = lookup(earlier.settings, path)
      return guards && isSet(was, schema.default) && isLost(was, lookup(section.settings, path), schema.default)
    })
    return guards.map(({ path }) => keyText([...section.prefix, ...path]))
  })
}

/**
 * Returns the keys of guards that have a value, sorted. In a table, each value counts separately. With `'files'`, only
 * guards that a file sets, not environment variables and overrides.
 */
export function setGuards({ sections }: Resolved, origin: 'any' | 'files' = 'any'): readonly string[] {
  const keys = sections.flatMap(({ declared, prefix, settings, views }) => {
    const files = views.filter(({ layer }) => layer !== 'environment' && layer !== 'set' && layer !== 'defaults')
    return declared.flatMap(({ path, schema, guards }) => {
      if (!guards) return []
      const set = setPaths(lookup(settings, path), path, schema.default)
      return set
        .filter(each => origin === 'any' || files.some(({ table }) => lookup(table, each) !== undefined))
        .map(each => keyText([...prefix, ...each]))
    })
  })
  return [...new Set(keys)].sort()
}

/** Returns the paths of the values in a setting that are set: its own path, or those of the values in its tables. */
function setPaths(value: unknown, path: Path, initial?: unknown): readonly Path[] {
  if (!isSet(value, initial)) return []
  return isTable(value) ? Object.entries(value).flatMap(([key, each]) => setPaths(each, [...path, key])) : [path]
}

function isSet(value: unknown, initial?: unknown): boolean {
  if (value === undefined || value === '' || value === false || isDeepStrictEqual(value, initial)) return false
  if (Array.isArray(value)) return value.length > 0
  return !isTable(value) || Object.keys(value).length > 0
}

/** True if a value, or in a table any value of it, is no longer set. */
function isLost(before: unknown, after: unknown, initial?: unknown): boolean {
  if (!isSet(after, initial)) return true
  if (!isTable(before) || !isTable(after)) return false
  return Object.entries(before).some(([key, value]) => isSet(value) && isLost(value, lookup(after, [key])))
}
