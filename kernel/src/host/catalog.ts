import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ConfigSources, readSources } from '@svc/config/sources'
import { defined, type PluginManifest } from '@svc/plugin-sdk'
import { type ConfigPeek, peekConfig } from './config-peek.ts'
import { type Discovered, Discovery } from './discovery.ts'
import type { PluginForm } from './file-source.ts'
import type { LoadMarker } from './load-marker.ts'
import type { PluginPages } from './plugin-pages.ts'
import { stateDirectory } from './state-directory.ts'

export interface CatalogOptions {
  /** Folder in which the search for the project begins. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly profile?: string
  readonly set?: readonly string[]
  /** Whether to use the source of a package that has both source and build. Default: the form that is in use. */
  readonly preferSource?: boolean
  /** Selects only these plugins and their providers. */
  readonly only?: readonly string[]
  /** True to select only plugins of the installation. */
  readonly safe?: boolean
  /** Number of processes kept ready to describe changed plugins; default 0. */
  readonly spares?: number
}

/** Configuration files and manifests: everything that is known before any plugin code is loaded. */
export interface PluginCatalog {
  readonly sources: ConfigSources
  readonly projectRoot: string
  /** Folder for caches and the data of plugins. */
  readonly state: string
  readonly found: Discovered
  readonly marker: LoadMarker
  /** Page modules of the plugins. */
  readonly pages: PluginPages
  readonly manifests: readonly PluginManifest[]
  /** Last valid manifests of broken plugins, which a daemon may still run. */
  readonly lapsed: readonly PluginManifest[]
  /** True if `--safe` excludes a plugin. */
  isLeftOut(name: string): boolean
  /** Settings that decide which plugins exist, before validation. */
  readonly peek: ConfigPeek
  /** Reads everything again. An unchanged plugin keeps its object. */
  again(): Promise<PluginCatalog>
  /** Reads again the plugins that the files (absolute paths) belong to. Only for changes of code. */
  rereadPlugins(files: ReadonlySet<string>): Promise<PluginCatalog>
  /** Reads the manifests of disabled plugins, which were skipped before. */
  include(names: Iterable<string>): Promise<PluginCatalog>
  /** Reads packages (absolute paths) again, without stored failures, and all that could not be read. */
  retry(roots: readonly string[]): Promise<PluginCatalog>
  /** Returns the same plugins with another text of the project file. */
  withText(text: string): PluginCatalog
  close(): Promise<void>
}

const here = fileURLToPath(import.meta.url)
/** Folder with `plugins/` and `config/`. If svc is installed from npm, the folder with the sibling packages. */
const installRoot = join(dirname(here), '..', '..', '..')
/** A kernel that runs from sources also compiles shared packages from sources. */
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
      prefer: preferred(options),
      conditions,
      describeTimeoutMs,
      spares: options.spares
    })
  )
  return catalog(options, sources, discovery, state)
}

async function catalog(
  options: CatalogOptions,
  given: ConfigSources,
  discovery: Discovery,
  state: string
): Promise<PluginCatalog> {
  const peek = peekConfig(given)
  const directories = peek.pluginDirectories.map(each => resolve(given.projectRoot, each))
  const describe = (found: Discovered, sources = given): PluginCatalog => ({
    sources,
    projectRoot: sources.projectRoot,
    state,
    found,
    marker: discovery.marker,
    pages: discovery.pages,
    peek: sources === given ? peek : peekConfig(sources),
    isLeftOut: name => options.safe === true && !found.installed.has(name),
    manifests: found.sources.flatMap(source => source.manifest ?? []),
    lapsed: found.sources.flatMap(source => source.lapsed ?? []),
    again: async () => catalog(options, read(options), discovery, state),
    rereadPlugins: async files => describe(await discovery.rediscover(files), sources),
    include: async names => describe(await discovery.include(new Set(names)), sources),
    retry: async roots => describe(await discovery.retry(roots), sources),
    withText: text => describe(found, read(options, { projectFile: sources.projectFile, projectText: text })),
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

function preferred({ preferSource }: CatalogOptions): PluginForm | 'current' {
  if (preferSource === undefined) return 'current'
  return preferSource ? 'source' : 'built'
}

function read(
  { cwd, env, profile, set }: CatalogOptions,
  draft: { readonly projectFile?: string; readonly projectText?: string } = {}
): ConfigSources {
  return readSources({ ...defined({ cwd, env, profile, set }), ...draft })
}
