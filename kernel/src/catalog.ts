import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as contracts from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import * as sdk from '@svc/plugin-sdk'
import { type ConfigPeek, peekConfig } from './config/peek.ts'
import { type ConfigSources, readSources } from './config/sources.ts'
import { type Discovered, Discovery } from './discovery.ts'

export interface CatalogOptions {
  /** Where the search for the project begins. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly profile?: string
  readonly set?: readonly string[]
  /** Whether sources are taken where a package has both sources and a build. */
  readonly preferSource?: boolean
}

/** Everything that is known before any plugin's code is loaded: configuration files and manifests. */
export interface Catalog {
  readonly sources: ConfigSources
  readonly projectRoot: string
  readonly found: Discovered
  readonly manifests: readonly PluginManifest[]
  /** What the files say of plugins, before anything is validated. */
  readonly peek: ConfigPeek
  /** Reads everything once more; a plugin that declares the same stays the same object. */
  again(): Promise<Catalog>
  close(): Promise<void>
}

/** Modules that plugins get from the host, so that both sides hold the same ones. */
export const shared: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['@svc/plugin-sdk', sdk],
  ['@svc/contracts', contracts]
])

const here = fileURLToPath(import.meta.url)
/** Folder that holds `plugins/` and `config/`, or, installed, the packages beside this one. */
const installRoot = join(dirname(here), '..', '..')
/** A kernel that runs from its sources compiles the packages that it shares from theirs. */
const conditions = here.endsWith('.ts') ? ['svc-source'] : []

export async function readCatalog(options: CatalogOptions): Promise<Catalog> {
  const { projectRoot } = read(options)
  const discovery = new Discovery({
    installRoot,
    projectRoot,
    cacheDirectory: join(projectRoot, '.vox', 'cache'),
    prefer: options.preferSource === true ? 'source' : 'built',
    conditions,
    shared
  })
  return catalog(options, discovery)
}

async function catalog(options: CatalogOptions, discovery: Discovery): Promise<Catalog> {
  const sources = read(options)
  const peek = peekConfig(sources)
  const found = await discovery.discover(peek.pluginDirectories.map(each => resolve(sources.projectRoot, each)))
  return {
    sources,
    projectRoot: sources.projectRoot,
    found,
    peek,
    manifests: found.sources.flatMap(source => source.manifest ?? []),
    again: () => catalog(options, discovery),
    close: () => discovery.close()
  }
}

function read({ cwd, env, profile, set }: CatalogOptions): ConfigSources {
  return readSources({ cwd, env, ...(profile === undefined ? {} : { profile }), ...(set === undefined ? {} : { set }) })
}
