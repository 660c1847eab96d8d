import { secretsResolver } from '@svc/contracts'
import type { Catalog } from './catalog.ts'
import { type PolicySettings, toPolicy } from './config/kernel-settings.ts'
import type { ResolvedConfig } from './config/resolve.ts'
import type { Configure, PluginConfiguration } from './inventory.ts'

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

  constructor(options: ChoiceOptions) {
    this.#options = options
  }

  /** Switches plugins for this run, over the configuration; undefined leaves it to the configuration. Returns the undo. */
  switch(names: Iterable<string>, on: boolean | undefined): () => void {
    const before = this.#switches
    const after = new Map(before)
    for (const name of names) {
      if (on === undefined) after.delete(name)
      else after.set(name, on)
    }
    this.#switches = after
    return () => {
      this.#switches = before
    }
  }

  configure(config: ResolvedConfig, catalog: Catalog): Configure {
    const { only = this.#options.activate === undefined ? config.kernel.only : undefined } = this.#options
    const chosen = only === undefined ? undefined : closure(only, config, catalog)
    const switches = this.#switches
    return name => {
      const plugin = config.plugins.get(name)
      if (plugin === undefined) return unconfigured(name, config)
      if (chosen?.has(name) === false) return { ...plugin, enabled: false, error: 'left out by --only' }
      return { ...plugin, enabled: switches.get(name) ?? (chosen === undefined ? plugin.enabled : true) }
    }
  }

  /** Whether a plugin is to be activated, if it is on. */
  selection(config: ResolvedConfig, catalog: Catalog): (name: string) => boolean {
    const { activate } = this.#options
    if (activate === undefined) return () => true
    const chosen = closure(activate, config, catalog)
    return name => chosen.has(name)
  }
}

/** The named plugins and the providers of everything that they require; what they merely can use is left to chance. */
function closure(names: readonly string[], config: ResolvedConfig, { manifests }: Catalog): ReadonlySet<string> {
  const wanted = new Set(names)
  for (const name of wanted) {
    const requires = [...(manifests.find(each => each.name === name)?.requires ?? [])]
    if (config.plugins.get(name)?.needsSecrets) requires.push(secretsResolver.id)
    for (const token of requires) {
      for (const provider of manifests) if (provider.provides.includes(token)) wanted.add(provider.name)
    }
  }
  return wanted
}

const DEFAULT_POLICY: PolicySettings = {
  isolation: 'in-process',
  required: false,
  uncaught: 'degrade',
  breaker: { failures: 5, window_ms: 30_000, half_open_ms: 10_000 }
}

/** A plugin without a manifest, or one that vanished and still drains. */
function unconfigured(name: string, { kernel }: ResolvedConfig): PluginConfiguration {
  return {
    enabled: undefined,
    error: null,
    policy: toPolicy(DEFAULT_POLICY, kernel),
    settings: async () => ({}),
    needsSecrets: false,
    fingerprint: name
  }
}
