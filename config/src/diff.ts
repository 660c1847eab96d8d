import { isDeepStrictEqual } from 'node:util'
import { lookup } from './layers.ts'
import type { Resolved } from './resolve.ts'
import type { ResolvedSection } from './resolve-section.ts'
import { keyText } from './toml.ts'

/** Changed keys, by how they are applied: live, by a new instance of the plugin, or by a new process. */
export interface Changes {
  readonly live: readonly string[]
  readonly plugin: readonly string[]
  readonly restart: readonly string[]
}

export const NO_CHANGES: Changes = { live: [], plugin: [], restart: [] }

/**
 * Compares two snapshots. Returns the changes of each section that exists in both, by name. Secrets are compared by
 * reference: a rotated secret is not a change.
 */
export function diff(before: Resolved, after: Resolved): ReadonlyMap<string, Changes> {
  const changed = new Map<string, Changes>()
  if (before === after) return changed
  for (const section of after.sections) {
    const changes = changesOf(before.section(section.name), section)
    if (changes !== NO_CHANGES) changed.set(section.name, changes)
  }
  return changed
}

function changesOf(before: ResolvedSection | undefined, after: ResolvedSection): Changes {
  if (before === undefined || isDeepStrictEqual(before.settings, after.settings)) return NO_CHANGES
  const changes = { live: [] as string[], plugin: [] as string[], restart: [] as string[] }
  for (const { path, reload } of after.declared) {
    if (!isDeepStrictEqual(lookup(before.settings, path), lookup(after.settings, path))) {
      changes[reload].push(keyText(path))
    }
  }
  const declared = new Set(after.declared.map(({ path }) => path[0]))
  for (const key of new Set([...Object.keys(before.settings), ...Object.keys(after.settings)])) {
    const same = isDeepStrictEqual(lookup(before.settings, [key]), lookup(after.settings, [key]))
    if (!declared.has(key) && !same) changes.plugin.push(keyText([key]))
  }
  return changes
}
