import { check } from '@svc/config'
import { secretServices } from '@svc/contracts'
import type { Configure, PluginConfiguration } from '../core/inventory.ts'
import type { PluginCatalog } from './catalog.ts'
import { type PolicySettings, policySchema, toPolicy } from './kernel-settings.ts'
import type { ResolvedConfig } from './plugin-config.ts'

export interface ChoiceOptions {
  /** Run only these plugins and what they require; the others count as switched off. */
  readonly only?: readonly string[]
  /** Activate only these and their requirements, and do not change the others: for a single command. */
  readonly activate?: readonly string[]
}

/** Selects the plugins of this run by the configuration, the command line, and manual switches. */
export class Choices {
  readonly #options: ChoiceOptions
  #switches: ReadonlyMap<string, boolean> = new Map()
  #needed: ReadonlySet<string> = new Set()

  constructor(options: ChoiceOptions) {
    this.#options = options
  }

  /** Switches plugins for this run, over the configuration. Returns a function that undoes it. */
  switch(names: Iterable<string>, on: boolean): () => void {
    return this.#replace(new Map([...this.#switches, ...[...names].map(name => [name, on] as const)]))
  }

  /** Drops switches of plugins that the configuration has switched since. Returns a function that undoes it. */
  defer(names: readonly string[], config: ResolvedConfig): () => void {
    // Plugins chosen by name do not follow the configuration.
    if (this.#only(config) !== undefined) return () => {}
    return this.#replace(new Map([...this.#switches].filter(([name]) => !names.includes(name))))
  }

  /** Adds plugins that the command line left out, if the configuration enables them. Returns a function that undoes it. */
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

  configure(config: ResolvedConfig, catalog: PluginCatalog): Configure {
    const only = this.#only(config)
    const [switches, needed] = [this.#switches, this.#needed]
    // A manually enabled plugin includes its providers, like a named one.
    const switchedOn = [...switches].filter(([, on]) => on).map(([name]) => name)
    const chosen = only === undefined ? undefined : closure([...only, ...switchedOn, ...needed], config, catalog)
    return name => {
      const plugin = config.plugins.get(name)
      const known = plugin ?? unconfigured(name, config)
      if (catalog.isLeftOut(name)) return { ...known, enabled: false, error: 'left out by --safe' }
      if (plugin === undefined) return known
      if (chosen?.has(name) === false) return { ...plugin, enabled: false, error: 'left out by --only' }
      const isConfigured = chosen === undefined || (needed.has(name) && only?.includes(name) !== true)
      return { ...plugin, enabled: switches.get(name) ?? (isConfigured ? plugin.enabled : true) }
    }
  }

  /** Whether an enabled plugin is activated. */
  selection(config: ResolvedConfig, catalog: PluginCatalog): (name: string) => boolean {
    const { activate } = this.#options
    if (activate === undefined) return () => true
    const chosen = closure([...activate, ...this.#needed], config, catalog, 'optional')
    return name => chosen.has(name)
  }
}

/**
 * The named plugins and the providers of everything that they require. With `optional` also the providers of optional services,
 * so that a single command does the same as in a server. Services that are looked up on use are not included.
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
    for (const token of requires) {
      for (const provider of manifests) if (provider.provides.includes(token)) wanted.add(provider.name)
    }
  }
  return wanted
}

const DEFAULT_POLICY = check(policySchema, {}, false).value as PolicySettings

/** A plugin without a manifest, or one that vanished and still drains. */
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
