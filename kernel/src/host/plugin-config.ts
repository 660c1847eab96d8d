import { createHash } from 'node:crypto'
import {
  type ConfigSources,
  formatProblem,
  isTable,
  lookup,
  type Resolved,
  type ResolvedSection,
  resolve,
  resolveSecrets,
  type SecretUse,
  type Table
} from '@svc/config'
import type { ConfigProblem, SettingExplanation, SettingReport } from '@svc/plugin-sdk'
import type { PluginConfiguration } from '../core/inventory.ts'
import { type KernelSettings, type PolicySettings, toPolicy } from './kernel-settings.ts'
import {
  type ConfigurablePlugin,
  declarePlugins,
  KERNEL_SECTION,
  pluginTables,
  policySection,
  settingsSection
} from './sections.ts'

/** Configuration of one plugin. The kernel uses the part {@link PluginConfiguration}. */
export interface PluginConfig extends PluginConfiguration {
  readonly name: string
  /** Validated settings with defaults. Secret references are not resolved. */
  readonly values: Table
  readonly problems: readonly ConfigProblem[]
  readonly secretReferences: readonly SecretUse[]
}

/** Immutable snapshot of all settings, by plugin. */
export interface ResolvedConfig {
  readonly projectRoot: string
  readonly kernel: KernelSettings
  readonly plugins: ReadonlyMap<string, PluginConfig>
  /** Problems that belong to no plugin. An error among them invalidates the whole configuration. */
  readonly generalProblems: readonly ConfigProblem[]
  /** All problems, including those of plugins. */
  readonly problems: readonly ConfigProblem[]
  /** The same snapshot by section. */
  readonly resolved: Resolved
  /** Lists all settings, or those below a prefix. Secrets are masked. */
  settings(prefix?: string): readonly SettingReport[]
  /** Throws `CFG_SETTING_UNKNOWN`. */
  explain(key: string): SettingExplanation
}

/** Resolves the settings of the kernel and the plugins. Never throws for bad input: it is reported as problems. */
export function resolveConfig(sources: ConfigSources, plugins: readonly ConfigurablePlugin[]): ResolvedConfig {
  const resolved = resolve(sources, declarePlugins(plugins), { groups: [pluginTables(plugins)] })
  const section = (name: string): ResolvedSection => resolved.section(name) as ResolvedSection
  const kernel = section(KERNEL_SECTION)
  const settings = kernel.settings as KernelSettings
  const configs = new Map(
    plugins.map(plugin => {
      const { name } = plugin
      return [
        name,
        pluginConfig(plugin, section(policySection(name)), section(settingsSection(name)), settings)
      ] as const
    })
  )
  const general = [...resolved.problems, ...kernel.problems]
  return {
    projectRoot: sources.projectRoot,
    kernel: settings,
    plugins: configs,
    generalProblems: general,
    problems: [...general, ...[...configs.values()].flatMap(config => config.problems)],
    resolved,
    settings: resolved.settings,
    explain: resolved.explain
  }
}

function pluginConfig(
  plugin: ConfigurablePlugin,
  policy: ResolvedSection,
  own: ResolvedSection,
  kernel: KernelSettings
): PluginConfig {
  const choices = policy.settings as PolicySettings
  const wanted = choices.enabled ?? plugin.enabledByDefault
  const problems = [
    ...own.conflicts,
    ...policy.problems,
    // A plugin that does not run may lack required settings.
    ...own.problems.filter(({ code }) => wanted || code !== 'CFG_VALUE_MISSING')
  ]
  const errors = problems.filter(({ severity }) => severity === 'error')
  return {
    name: plugin.name,
    enabled: choices.enabled,
    error: errors.length > 0 ? errors.map(formatProblem).join('\n') : null,
    policy: toPolicy(choices, kernel, plugin.onBootFailure),
    values: own.settings,
    settings: resolveSecret => resolveSecrets(own, resolveSecret),
    problems,
    secretReferences: own.references,
    secretBackends: [...new Set(own.references.map(({ reference }) => reference.backend))],
    fingerprint: fingerprint([policy, own])
  }
}

/** Returns a fingerprint of the settings whose change requires a new instance of the plugin. */
function fingerprint(sections: readonly ResolvedSection[]): string {
  const hash = createHash('sha256')
  for (const { declared, settings } of sections) {
    const known = new Set(declared.map(({ path }) => path[0]))
    const others = Object.keys(settings).filter(key => !known.has(key))
    const paths = [
      ...declared.filter(({ reload }) => reload === 'plugin').map(({ path }) => path),
      ...others.sort().map(key => [key])
    ]
    hash.update(
      JSON.stringify(
        paths.map(path => [path, lookup(settings, path)]),
        sorted
      )
    )
  }
  return hash.digest('base64url')
}

function sorted(_key: string, value: unknown): unknown {
  return isTable(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}
