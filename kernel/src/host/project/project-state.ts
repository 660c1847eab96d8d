import type { ConfigProblem } from '@svc/contracts'
import type { PluginCatalog } from '../catalog.ts'
import { findingsIn } from '../findings.ts'
import { holdSettings, refusedSettings } from '../held-settings.ts'
import { type ResolvedConfig, resolveConfig } from '../plugin-config.ts'

/** Catalog with its configuration. */
export interface Reading {
  readonly catalog: PluginCatalog
  readonly config: ResolvedConfig
}

export interface InForce extends Reading {
  /** Configuration as in the files. In `config`, plugins with rejected settings keep their earlier ones. */
  readonly read: ResolvedConfig
}

/** Configuration and plugins that a project runs with, and those that its files show. They differ after a refused change. */
export class ProjectState {
  inForce: InForce
  /** Catalog that was read last, even if it was not applied. Its files are watched. */
  seen: Reading
  /** Plugins whose files changed since their code was read. They stay listed until a change succeeds. */
  readonly stale = new Set<string>()

  constructor(first: Reading) {
    this.inForce = { ...first, read: first.config }
    this.seen = first
  }

  /** Resolves the configuration of a catalog that was just read. Nothing of it is in force yet. */
  see(catalog: PluginCatalog): void {
    const { inForce } = this
    const config = isSameConfiguration(catalog, inForce.catalog) ? inForce.read : configOf(catalog)
    this.seen = { catalog, config }
  }

  /** Adopts a catalog whose manifests may differ, but not its configuration files. */
  takeManifests(catalog: PluginCatalog, running: ReadonlyMap<string, unknown>): void {
    const read = configOf(catalog)
    const config = holdSettings(read, this.inForce.config, new Set(refusedSettings(read, running).keys()))
    this.inForce = { catalog, read, config }
    this.seen = { catalog, config: read }
  }
}

/** Resolves the configuration of a catalog. A broken plugin is still installed, so its last known schema applies. */
export function configOf({ sources, manifests, lapsed }: PluginCatalog): ResolvedConfig {
  return resolveConfig(sources, [...manifests, ...lapsed])
}

/** Returns the problems of the configuration and of plugins, which may be invalid or share a name. */
export function problemsOf(catalog: PluginCatalog): ConfigProblem[] {
  const config = configOf(catalog)
  const others = findingsIn(catalog, config).filter(({ code }) => !code.startsWith('CFG_'))
  const problems = others.map(
    ({ code, message, location, hint }): ConfigProblem => ({
      // An invalid plugin does not make the configuration invalid.
      severity: 'warning',
      code,
      message,
      ...(location === null ? {} : { file: location }),
      ...(hint === null ? {} : { hint })
    })
  )
  return [...config.problems, ...problems]
}

/** True if two catalogs have the same configuration files and the same manifests. */
function isSameConfiguration(a: PluginCatalog, b: PluginCatalog): boolean {
  return a.sources === b.sources && isSame(a.manifests, b.manifests) && isSame(a.lapsed, b.lapsed)
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index])
}
