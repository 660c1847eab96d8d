import { isDeepStrictEqual } from 'node:util'
import { lookup } from './layers.ts'
import type { ResolvedConfig } from './resolve.ts'
import type { Settled } from './settle.ts'
import { keyText } from './toml.ts'

/** Keys that changed, by what the change costs: nothing, a new instance of the plugin, a new process. */
export interface Changes {
  readonly live: readonly string[]
  readonly plugin: readonly string[]
  readonly restart: readonly string[]
}

export interface PluginDiff {
  /** Whether the switch itself changed. */
  readonly enabled: boolean
  /** Changed keys of the policy, without `enabled`. */
  readonly policy: Changes
  readonly settings: Changes
}

export interface ConfigDiff {
  readonly kernel: Changes
  /** Plugins known to both, and only those that something changed for. */
  readonly plugins: ReadonlyMap<string, PluginDiff>
}

/** What changed between two snapshots. Secrets are compared by reference: a rotated secret is no change. */
export function diffConfig(previous: ResolvedConfig, next: ResolvedConfig): ConfigDiff {
  const before = (owner: Settled): Settled | undefined =>
    previous.owners.find(other => other.name === owner.name && other.kind === owner.kind)
  const plugins = new Map<string, PluginDiff>()
  let kernel = NOTHING
  if (previous === next) return { kernel, plugins }
  for (const owner of next.owners) {
    const changes = changesOf(before(owner), owner)
    if (changes === NOTHING) continue
    if (owner.kind === 'kernel') {
      kernel = changes
      continue
    }
    const known = plugins.get(owner.name) ?? { enabled: false, policy: NOTHING, settings: NOTHING }
    if (owner.kind === 'settings') plugins.set(owner.name, { ...known, settings: changes })
    else {
      const live = changes.live.filter(key => key !== 'enabled')
      plugins.set(owner.name, { ...known, enabled: live.length < changes.live.length, policy: { ...changes, live } })
    }
  }
  return { kernel, plugins }
}

const NOTHING: Changes = { live: [], plugin: [], restart: [] }

function changesOf(before: Settled | undefined, after: Settled): Changes {
  if (before === undefined || isDeepStrictEqual(before.settings, after.settings)) return NOTHING
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
