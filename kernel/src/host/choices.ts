import { check } from '@svc/config'
import { secretServices } from '@svc/contracts'
import type { Configure, PluginConfiguration } from '../core/inventory.ts'
import type { PluginCatalog } from './catalog.ts'
import { type PolicySettings, policySchema, toPolicy } from './kernel-settings.ts'
import type { ResolvedConfig } from './plugin-config.ts'

export interface ChoiceOptions {
  /** Runs only these plugins and their requirements. Others count as disabled. */
  readonly only?: readonly string[]
  /** Activates only these plugins and their requirements, without disabling others. For a single command. */
  readonly activate?: readonly string[]
}

/** Selects the plugins of this run by configuration, command line and `svc plugins enable` or `disable`. */
export class Choices {
  readonly #options: ChoiceOptions
  #switches: ReadonlyMap<string, boolean> = new Map()
  #needed: ReadonlySet<string> = new Set()

  constructor(options: ChoiceOptions) {
    this.#options = options
  }

  /** Enables or disables plugins for this run, overriding the configuration. Returns a function that undoes this. */
  switch(names: Iterable<string>, on: boolean): () => void {
    return this.#replace(new Map([...this.#switches, ...[...names].map(name => [name, on] as const)]))
  }

  /** Drops overrides of plugins whose `enabled` setting changed later. Returns a function that undoes this. */
  defer(names: readonly string[], config: ResolvedConfig): () => void {
    // With `only`, `enabled` settings do not matter.
    if (this.#only(config) !== undefined) return () => {}
    return this.#replace(new Map([...this.#switches].filter(([name]) => !names.includes(name))))
  }

  /**
   * Adds plugins that `only` or `activate` excludes, if the configuration enables them. Returns a function that undoes
   * this.
   */
  need(names: Iterable<string>): () => void {
    const before = this.#needed
    this.#needed = new Set([...before, ...names])
    return () => {
      this.#needed = before
    }
  }

  #replace(switches: ReadonlyMap<string, boolean>): () => void {
    const before = this.#switches
    this.#switches = switches
    return () => {
      this.#switches = before
    }
  }

  #only(config: ResolvedConfig): readonly string[] | undefined {
    return this.#options.only ?? (this.#options.activate === undefined ? config.kernel.only : undefined)
  }

  /** Returns the option or setting that selects plugins instead of their setting `enabled`; undefined if none does. */
  selectedBy(config: ResolvedConfig): string | undefined {
    if (this.#options.only !== undefined) return '--only'
    return this.#only(config) === undefined ? undefined : 'kernel.only'
  }

  /** Returns configuration and selection of plugins, in the form in which the kernel takes them. */
  wanted(
    config: ResolvedConfig,
    catalog: PluginCatalog
  ): { readonly configuration: Configure; readonly chosen: (name: string) => boolean } {
    return { configuration: this.configure(config, catalog), chosen: this.selection(config, catalog) }
  }

  configure(config: ResolvedConfig, catalog: PluginCatalog): Configure {
    const only = this.#only(config)
    const leftOut = `left out by ${this.selectedBy(config)}`
    const [switches, needed] = [this.#switches, this.#needed]
    // The providers of a manually enabled plugin are included, as for plugins in `only`.
    const switchedOn = [...switches].filter(([, on]) => on).map(([name]) => name)
    const chosen = only === undefined ? undefined : closure([...only, ...switchedOn, ...needed], config, catalog)
    return name => {
      const plugin = config.plugins.get(name)
      const known = plugin ?? unconfigured(name, config)
      if (catalog.isLeftOut(name)) return { ...known, enabled: false, error: 'left out by --safe' }
      if (plugin === undefined) return known
      if (chosen?.has(name) === false) return { ...plugin, enabled: false, error: leftOut }
      const isConfigured = chosen === undefined || (needed.has(name) && only?.includes(name) !== true)
      return { ...plugin, enabled: switches.get(name) ?? (isConfigured ? plugin.enabled : true) }
    }
  }

  /** Returns a function that is true for enabled plugins to activate. */
  selection(config: ResolvedConfig, catalog: PluginCatalog): (name: string) => boolean {
    const { activate } = this.#options
    if (activate === undefined) return () => true
    const chosen = closure([...activate, ...this.#needed], config, catalog, 'optional')
    return name => chosen.has(name)
  }
}

/**
 * Returns the named plugins with the providers of all services that they require, recursively. With `optional`, also
 * those of optional services, and plugins that declare to contribute to their points or to tap their hooks, so that a
 * command behaves as in a server. Services of references are not included.
 */
function closure(
  names: readonly string[],
  config: ResolvedConfig,
  { manifests }: PluginCatalog,
  also?: 'optional'
): ReadonlySet<string> {
  const wanted = new Set(names)
  for (const name of wanted) {
    const manifest = manifests.find(each => each.name === name)
    const requires = [...(manifest?.requires ?? [])]
    if (also === 'optional') requires.push(...(manifest?.optional ?? []).filter(id => !manifest?.refs.includes(id)))
    const backends = config.plugins.get(name)?.secretBackends ?? []
    requires.push(...secretServices(backends, token => manifests.some(each => each.provides.includes(token))))
    const points = also === 'optional' ? (manifest?.points ?? []) : []
    const hooks = also === 'optional' ? (manifest?.hooks ?? []).map(({ id }) => id) : []
    for (const { contributes = [], taps = [], ...other } of manifests)
      if (contributes.some(point => points.includes(point)) || taps.some(hook => hooks.includes(hook)))
        wanted.add(other.name)
    for (const token of requires) {
      for (const provider of manifests) if (provider.provides.includes(token)) wanted.add(provider.name)
    }
  }
  return wanted
}

const DEFAULT_POLICY = check(policySchema, {}, false).value as PolicySettings

/** Returns the configuration of a plugin without a manifest, or of a removed one that still drains. */
function unconfigured(name: string, { kernel }: ResolvedConfig): PluginConfiguration {
  return {
    enabled: undefined,
    error: null,
    policy: toPolicy(DEFAULT_POLICY, kernel),
    settings: async () => ({}),
    secretBackends: [],
    fingerprint: name
  }
}
