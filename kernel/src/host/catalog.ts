import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ConfigSources, readSources } from '@svc/config/sources'
import { defined, type PluginManifest } from '@svc/plugin-sdk'
import { type ConfigPeek, peekConfig } from './config-peek.ts'
import { type Discovered, Discovery } from './discovery.ts'
import type { LoadMarker } from './load-marker.ts'
import { stateDirectory } from './state-directory.ts'

export interface CatalogOptions {
  /** Where the search for the project begins. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly profile?: string
  readonly set?: readonly string[]
  /** Whether sources are used if a package has both sources and a build. */
  readonly preferSource?: boolean
  /** Selects only these plugins and their providers. */
  readonly only?: readonly string[]
  /** Whether only plugins of the installation are selected. */
  readonly safe?: boolean
  /** Spare processes for describing saved plugins; default 0. */
  readonly spares?: number
}

/** Configuration files and manifests: everything known before a plugin's code is loaded. */
export interface PluginCatalog {
  readonly sources: ConfigSources
  readonly projectRoot: string
  /** Folder for caches and plugins' own data. */
  readonly state: string
  readonly found: Discovered
  readonly marker: LoadMarker
  readonly manifests: readonly PluginManifest[]
  /** Last valid manifests of broken plugins; a daemon may still run them. */
  readonly lapsed: readonly PluginManifest[]
  /** Whether `--safe` leaves a plugin out. */
  isLeftOut(name: string): boolean
  /** Settings about plugins, before validation. */
  readonly peek: ConfigPeek
  /** Reads everything again. A plugin with an unchanged declaration stays the same object. */
  again(): Promise<PluginCatalog>
  /** Rereads the plugins of the files (absolute paths). Only for changes of code. */
  rereadPlugins(files: ReadonlySet<string>): Promise<PluginCatalog>
  /** Describes plugins that were left off. */
  include(names: Iterable<string>): Promise<PluginCatalog>
  close(): Promise<void>
}

const here = fileURLToPath(import.meta.url)
/** Folder that holds `plugins/` and `config/`, or, installed, the packages next to this one. */
const installRoot = join(dirname(here), '..', '..', '..')
/** A kernel that runs from sources compiles its shared packages from sources, too. */
const conditions = here.endsWith('.ts') ? ['svc-source'] : []

export async function readCatalog(options: CatalogOptions): Promise<PluginCatalog> {
  const sources = read(options)
  const { projectRoot } = sources
  const { dataDirectory, describeTimeoutMs } = peekConfig(sources)
  const state = stateDirectory(projectRoot, dataDirectory, options.env)
  const discovery = new Discovery(
    defined({
      installRoot,
      projectRoot,
      cacheDirectory: join(state, 'cache'),
      prefer: options.preferSource === true ? ('source' as const) : ('built' as const),
      conditions,
      describeTimeoutMs,
      spares: options.spares
    })
  )
  return catalog(options, sources, discovery, state)
}

async function catalog(
  options: CatalogOptions,
  sources: ConfigSources,
  discovery: Discovery,
  state: string
): Promise<PluginCatalog> {
  const peek = peekConfig(sources)
  const directories = peek.pluginDirectories.map(each => resolve(sources.projectRoot, each))
  const describe = (found: Discovered): PluginCatalog => ({
    sources,
    projectRoot: sources.projectRoot,
    state,
    found,
    marker: discovery.marker,
    peek,
    isLeftOut: name => options.safe === true && !found.installed.has(name),
    manifests: found.sources.flatMap(source => source.manifest ?? []),
    lapsed: found.sources.flatMap(source => source.lapsed ?? []),
    again: async () => catalog(options, read(options), discovery, state),
    rereadPlugins: async files => describe(await discovery.rediscover(files)),
    include: async names => describe(await discovery.include(new Set(names))),
    close: () => discovery.close()
  })
  const choice = defined({
    off: (name: string) => peek.enabled(name) === false && options.only?.includes(name) !== true,
    grants: (name: string) => peek.permissions(name),
    only: options.only,
    safe: options.safe
  })
  return describe(await discovery.discover(directories, choice))
}

function read({ cwd, env, profile, set }: CatalogOptions): ConfigSources {
  return readSources(defined({ cwd, env, profile, set }))
}
