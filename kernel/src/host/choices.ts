import { check } from '@svc/config'
import { secretServices } from '@svc/contracts'
import type { Configure, PluginConfiguration } from '../core/inventory.ts'
import type { Catalog } from './catalog.ts'
import { type PolicySettings, policySchema, toPolicy } from './kernel-settings.ts'
import type { ResolvedConfig } from './plugin-config.ts'

export interface ChoiceOptions {
  /** Run only these plugins and what they require; the others count as switched off. */
  readonly only?: readonly string[]
  /** Activate only these and what they require, and leave the others as they are: for one command. */
  readonly activate?: readonly string[]
}

/** Which plugins this run has: what the configuration says, narrowed by the command line, and switched by hand. */
export class Choices {
  readonly #options: ChoiceOptions
  #switches: ReadonlyMap<string, boolean> = new Map()
  #needed: ReadonlySet<string> = new Set()

  constructor(options: ChoiceOptions) {
    this.#options = options
  }

  /** Switches plugins for this run, over the configuration. Returns how to take it back. */
  switch(names: Iterable<string>, on: boolean): () => void {
    return this.#replace(new Map([...this.#switches, ...[...names].map(name => [name, on] as const)]))
  }

  /** Takes the configuration's word for plugins that it switched after a person did. Returns how to take it back. */
  defer(names: readonly string[], config: ResolvedConfig): () => void {
    // Where plugins were chosen by name, what the configuration says of them does not count.
    if (this.#only(config) !== undefined) return () => {}
    return this.#replace(new Map([...this.#switches].filter(([name]) => !names.includes(name))))
  }

  /** Takes plugins in that the command line left out, if the configuration has them on. Returns how to take it back. */
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

  configure(config: ResolvedConfig, catalog: Catalog): Configure {
    const only = this.#only(config)
    const [switches, needed] = [this.#switches, this.#needed]
    // Who is switched on by hand comes with what it requires, as if it had been named.
    const switchedOn = [...switches].filter(([, on]) => on).map(([name]) => name)
    const chosen = only === undefined ? undefined : closure([...only, ...switchedOn, ...needed], config, catalog)
    return name => {
      const plugin = config.plugins.get(name)
      if (plugin === undefined && catalog.isLeftOut(name))
        return { ...unconfigured(name, config), enabled: false, error: 'left out by --safe' }
      if (plugin === undefined) return unconfigured(name, config)
      if (catalog.isLeftOut(name)) return { ...plugin, enabled: false, error: 'left out by --safe' }
      if (chosen?.has(name) === false) return { ...plugin, enabled: false, error: 'left out by --only' }
      const isConfigured = chosen === undefined || (needed.has(name) && only?.includes(name) !== true)
      return { ...plugin, enabled: switches.get(name) ?? (isConfigured ? plugin.enabled : true) }
    }
  }

  /** Whether a plugin is to be activated, if it is on. */
  selection(config: ResolvedConfig, catalog: Catalog): (name: string) => boolean {
    const { activate } = this.#options
    if (activate === undefined) return () => true
    const chosen = closure([...activate, ...this.#needed], config, catalog, 'optional')
    return name => chosen.has(name)
  }
}

/**
 * The named plugins and the providers of everything that they require. What they merely can use is left to chance, unless it is
 * asked for as `optional`: a single command does then what it does in a process that serves. What is looked up on use is not.
 */
function closure(
  names: readonly string[],
  config: ResolvedConfig,
  { manifests }: Catalog,
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
