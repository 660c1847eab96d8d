import { createHash } from 'node:crypto'
import {
  type ConfigProblem,
  type SettingExplanation,
  type SettingReport,
  secretBackend,
  secretsResolver
} from '@svc/contracts'
import type { PluginConfiguration } from '../core/inventory.ts'
import { type KernelSettings, type PolicySettings, RESERVED_KEYS, toPolicy } from '../host/kernel-settings.ts'
import { explainSetting, listSettings } from './explain.ts'
import { isTable, lookup, type Path, type Table } from './layers.ts'
import { formatProblem } from './problem.ts'
import { type ConfigurablePlugin, type Registered, register } from './registry.ts'
import { forbiddenReferences, resolveSecrets } from './secrets.ts'
import { type Owner, type SecretUse, type Settled, settle } from './settle.ts'
import { type ConfigSources, viewOf } from './sources.ts'
import { nearMisses, unknownTables } from './unknown.ts'

/** What configuration says of one plugin; what the kernel needs of it is {@link PluginConfiguration}. */
export interface PluginConfig extends PluginConfiguration {
  readonly name: string
  /** Validated, with defaults; secret references are still references. */
  readonly values: Table
  readonly problems: readonly ConfigProblem[]
  readonly secretReferences: readonly SecretUse[]
}

/** An immutable snapshot of all settings. */
export interface ResolvedConfig {
  readonly projectRoot: string
  readonly kernel: KernelSettings
  readonly plugins: ReadonlyMap<string, PluginConfig>
  /** Problems that belong to no plugin; an error among them forbids the whole configuration. */
  readonly generalProblems: readonly ConfigProblem[]
  /** All problems, those of plugins included. */
  readonly problems: readonly ConfigProblem[]
  /** For {@link diffConfig}. */
  readonly owners: readonly Settled[]
  /** Every setting, or those under a prefix. Secrets are masked. */
  settings(prefix?: string): readonly SettingReport[]
  /** Throws `CFG_SETTING_UNKNOWN`. */
  explain(key: string): SettingExplanation
}

/** Gives the sources their meaning: which plugin takes what. Throws nothing; what is wrong is listed as problems. */
export function resolveConfig(sources: ConfigSources, plugins: readonly ConfigurablePlugin[]): ResolvedConfig {
  const files = sources.layers.filter(layer => layer.layer !== 'set')
  const overrides = sources.layers.filter(layer => layer.layer === 'set')
  const registry = register(plugins)
  const settleOwner = (owner: Owner): Settled => {
    const bases = owner.prefix[0] === 'plugins' || owner.kind === 'kernel' ? [] : [['plugins', owner.name]]
    const accepts = (key: string, base: Path): boolean =>
      base[0] !== 'plugins' || RESERVED_KEYS.has(key) === (owner.kind === 'policy')
    const own = (layers: typeof files) => layers.map(layer => viewOf(layer, [...bases, owner.prefix], accepts))
    return settle(owner, own(files), sources.env, own(overrides))
  }
  const kernel = settleOwner(registry.kernel)
  const settings = kernel.settings as KernelSettings
  const general = [
    ...sources.problems,
    ...unknownTables(sources, plugins, registry.sections),
    ...kernel.problems,
    ...forbiddenReferences(kernel),
    ...nearMisses(sources.env, registry.variables)
  ]
  const owners = [kernel]
  const configs = new Map<string, PluginConfig>()
  for (const registered of registry.plugins) {
    const policy = settleOwner(registered.policyOwner)
    const own = settleOwner(registered.owner)
    owners.push(policy, own)
    configs.set(own.name, pluginConfig(registered, policy, own, settings))
  }
  return {
    projectRoot: sources.projectRoot,
    kernel: settings,
    plugins: configs,
    generalProblems: general,
    problems: [...general, ...[...configs.values()].flatMap(config => config.problems)],
    owners,
    settings: prefix => listSettings(owners, prefix),
    explain: key => explainSetting(owners, key)
  }
}

function pluginConfig(
  { plugin, problems }: Registered,
  policy: Settled,
  own: Settled,
  kernel: KernelSettings
): PluginConfig {
  const choices = policy.settings as PolicySettings
  const wanted = choices.enabled ?? plugin.enabledByDefault
  const all = [
    ...problems,
    ...policy.problems,
    // Nobody has to configure what does not run.
    ...own.problems.filter(({ code }) => wanted || code !== 'CFG_VALUE_MISSING'),
    ...forbiddenReferences(own, backend => providesSecrets(plugin.provides, backend))
  ]
  const errors = all.filter(({ severity }) => severity === 'error')
  return {
    name: own.name,
    enabled: choices.enabled,
    error: errors.length > 0 ? errors.map(formatProblem).join('\n') : null,
    policy: toPolicy(choices, kernel, plugin.onBootFailure),
    values: own.settings,
    settings: resolve => resolveSecrets(own, resolve),
    problems: all,
    secretReferences: own.references,
    secretBackends: [...new Set(own.references.map(({ reference }) => reference.backend))],
    fingerprint: fingerprint([policy, own])
  }
}

/** Whether a plugin resolves the references to a backend, so that its own settings cannot hold them. */
function providesSecrets(provides: readonly string[], backend: string): boolean {
  return provides.includes(secretsResolver.id) || provides.includes(secretBackend(backend).id)
}

/** Differs when a value differs whose change needs a new instance of the plugin. */
function fingerprint(owners: readonly Settled[]): string {
  const hash = createHash('sha256')
  for (const { declared, settings } of owners) {
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
