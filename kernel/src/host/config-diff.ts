import { type Changes, diff, keyText, NO_CHANGES } from '@svc/config'
import type { ChangedSetting } from '@svc/contracts'
import type { ResolvedConfig } from './plugin-config.ts'
import { KERNEL_SECTION, policySection, settingsSection } from './sections.ts'

export interface PluginDiff {
  /** True if `enabled` changed. */
  readonly enabled: boolean
  /** Changed keys of the policy, without `enabled`. */
  readonly policy: Changes
  readonly settings: Changes
}

export interface ConfigDiff {
  readonly kernel: Changes
  /** Changes of each plugin that exists in both snapshots. */
  readonly plugins: ReadonlyMap<string, PluginDiff>
}

/** Groups the changes between two snapshots by plugin. */
export function diffConfig(before: ResolvedConfig, after: ResolvedConfig): ConfigDiff {
  const changed = diff(before.resolved, after.resolved)
  const plugins = new Map<string, PluginDiff>()
  for (const name of after.plugins.keys()) {
    const policy = changed.get(policySection(name))
    const settings = changed.get(settingsSection(name))
    if (policy === undefined && settings === undefined) continue
    const live = policy?.live.filter(key => key !== 'enabled') ?? []
    plugins.set(name, {
      enabled: policy?.live.includes('enabled') === true,
      policy: policy === undefined ? NO_CHANGES : { ...policy, live },
      settings: settings ?? NO_CHANGES
    })
  }
  return { kernel: changed.get(KERNEL_SECTION) ?? NO_CHANGES, plugins }
}

/** Returns the changed settings with their documented keys. */
export function changedSettings({ kernel, plugins }: ConfigDiff, { resolved }: ResolvedConfig): ChangedSetting[] {
  const of = ({ live, plugin, restart }: Changes, section: string): ChangedSetting[] => {
    const prefix = resolved.section(section)?.prefix ?? []
    const named = (keys: readonly string[], reload: ChangedSetting['reload']): ChangedSetting[] =>
      keys.map(key => ({ key: [keyText(prefix), key].filter(Boolean).join('.'), reload }))
    return [...named(live, 'live'), ...named(plugin, 'plugin'), ...named(restart, 'restart')]
  }
  return [
    ...of(kernel, KERNEL_SECTION),
    ...[...plugins].flatMap(([name, { enabled, policy, settings }]) => [
      ...(enabled ? [{ key: keyText(['plugins', name, 'enabled']), reload: 'live' as const }] : []),
      ...of(policy, policySection(name)),
      ...of(settings, settingsSection(name))
    ])
  ]
}
