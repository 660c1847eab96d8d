import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { defined, isSvcError, type Permissions, type PluginManifest, SvcError } from '@svc/plugin-sdk'
import type { PluginSource } from '../core/plugin-source.ts'
import type { Describer } from '../isolation/describer.ts'
import { Bundler } from '../loader/bundle.ts'
import { loaderErrors } from '../loader/errors.ts'
import type { EvaluateOptions } from '../loader/evaluate.ts'
import { nameFor } from '../loader/manifest.ts'
import { type PluginPackage, readPackageJson, readPluginPackage } from '../loader/plugin-package.ts'
import { isServed, isSourceCurrent } from './current-form.ts'
import { FileSource, type Loader, type PluginForm } from './file-source.ts'
import { LoadMarker } from './load-marker.ts'
import { type DiscoveryProblem, PluginFolders } from './places.ts'
import { PluginIndex } from './plugin-index.ts'
import { PluginPages } from './plugin-pages.ts'

export interface DiscoveryOptions extends EvaluateOptions {
  /** Folder whose `plugins/` or `node_modules` contains the plugins of the installation. */
  readonly installRoot: string
  readonly projectRoot: string
  /** Folder of the plugin index; null keeps the index in memory. */
  readonly cacheDirectory: string | null
  /** Form to load if a package has both; `current`: see {@link isSourceCurrent}. Default: `built`. */
  readonly prefer?: PluginForm | 'current'
  /** See {@link Bundler}. */
  readonly conditions?: readonly string[]
  /** Time limit in milliseconds for running a module body to read its manifest; default 5,000. */
  readonly describeTimeoutMs?: number
  /** Number of processes kept ready for the next descriptions; default 0. */
  readonly spares?: number
}

/** Selection of plugins by configuration and command line, before any manifest is known. */
export interface DiscoveryChoice {
  /** True for a disabled plugin, which is neither compiled nor described. */
  readonly off?: (name: string) => boolean
  /** Selects only these plugins and their providers. */
  readonly only?: readonly string[]
  /** True to select only plugins of the installation. */
  readonly safe?: boolean
  readonly grants?: (name: string) => Permissions | null
}

/** Line that a plugin printed while its module body ran for its manifest. */
export interface PluginOutput {
  readonly plugin: string
  readonly line: string
}

export interface Discovered {
  /** One source for each name. Broken packages are included and have a `problem`. */
  readonly sources: readonly PluginSource[]
  /** Problems that no source has: missing folders, names that another plugin already has, and those in `kept`. */
  readonly problems: readonly DiscoveryProblem[]
  /** Plugins whose package is no longer valid, with the error. Their sources keep the last valid version. */
  readonly kept: ReadonlyMap<string, SvcError>
  /** Names of the plugins of the installation. */
  readonly installed: ReadonlySet<string>
  /** Lines that plugins printed since the last discovery. */
  readonly output: readonly PluginOutput[]
  /** Absolute paths to watch: files, and in `directories` those in which plugin folders may appear. */
  readonly files: readonly string[]
  readonly directories: readonly string[]
}

type Watched = Pick<Discovered, 'files' | 'directories'>

const NONE: readonly string[] = []
const SAVE_AFTER_MS = 500
const DESCRIBE_TIMEOUT_MS = 5_000
const MAX_OUTPUT_LINES = 200

/**
 * Finds plugins, in this order: `plugins/` of the installation, installed packages that declare a plugin, `plugins/` of
 * the project, folders named in the configuration. If two plugins have one name, the first wins.
 *
 * A later discovery returns the same object for an unchanged package, so that it is not loaded again.
 */
export class Discovery {
  readonly marker: LoadMarker
  readonly pages: PluginPages
  readonly #options: DiscoveryOptions
  readonly #loader: Loader
  readonly #known = new Map<string, FileSource>()
  /** Folders that the last search found. */
  #folders = new PluginFolders()
  #choice: DiscoveryChoice = {}
  /** Whether a server runs for the project. Read once for each discovery, on demand. */
  #served: Promise<boolean> | undefined
  /** Plugins that were enabled at run time. */
  readonly #included = new Set<string>()
  #output: PluginOutput[] = []
  #describer: Promise<Describer> | undefined
  /** For each package folder, whether it belongs to the installation. */
  readonly #isOurs = new Map<string, boolean>()
  /** Errors of the packages that the last discovery could not read, by folder. */
  readonly #unread = new Map<string, SvcError>()
  #watching: { readonly of: readonly unknown[]; readonly watched: Watched } = {
    of: [],
    watched: { files: [], directories: [] }
  }
  #saving: NodeJS.Timeout | undefined
  #saved: Promise<void> = Promise.resolve()

  constructor(options: DiscoveryOptions) {
    this.#options = options
    this.marker = new LoadMarker(options.cacheDirectory)
    const describeTimeoutMs = options.describeTimeoutMs ?? DESCRIBE_TIMEOUT_MS
    const bundler = new Bundler(options.conditions)
    this.pages = new PluginPages(bundler)
    this.#loader = {
      bundler,
      pages: this.pages,
      index: new PluginIndex(options.cacheDirectory),
      evaluation: options,
      marker: this.marker,
      describeTimeoutMs,
      grants: name => this.#choice.grants?.(name) ?? null,
      describer: () => (this.#describer ??= this.#makeDescriber(describeTimeoutMs))
    }
  }

  async #makeDescriber(timeoutMs: number): Promise<Describer> {
    // Loaded on demand: most starts have nothing to describe.
    const { Describer } = await import('../isolation/describer.ts')
    const { projectRoot, spares = 0 } = this.#options
    return new Describer({
      projectRoot,
      timeoutMs,
      spares,
      onOutput: (plugin, line) => {
        if (this.#output.length < MAX_OUTPUT_LINES) this.#output.push({ plugin, line })
      }
    })
  }

  /**
   * Finds and describes all plugins. `directories`: absolute paths of plugins or of folders of plugins. Invalid plugins
   * are reported, not thrown.
   */
  async discover(directories: readonly string[] = [], choice: DiscoveryChoice = {}): Promise<Discovered> {
    const { installRoot, projectRoot } = this.#options
    for (const name of this.#included)
      if (choice.off?.(name) === true && this.#choice.off?.(name) !== true) this.#included.delete(name)
    this.#choice = choice
    this.#served = undefined
    const folders = new PluginFolders(root => this.#known.has(root) || this.#loader.index.last(root) !== undefined)
    folders.addFolderOfPlugins(join(installRoot, 'plugins'))
    folders.addInstalled(projectRoot)
    folders.addInstalled(installRoot)
    folders.addDeclared(join(projectRoot, 'plugins'))
    for (const directory of directories) folders.addNamed(resolve(directory))
    this.#folders = folders
    this.#loader.index.retain(folders.roots)
    const found = await this.#describe(folders)
    await this.#save()
    return found
  }

  /**
   * Reads again those packages of the last {@link Discovery.discover} that the changed files (absolute paths) affect.
   * Does not search for new packages. The index is written to disk later.
   */
  async rediscover(files: ReadonlySet<string>): Promise<Discovered> {
    const found = await this.#describe(this.#folders, files)
    this.#saveLater()
    return found
  }

  /** Describes disabled plugins. They stay included until the configuration disables them again. */
  async include(names: ReadonlySet<string>): Promise<Discovered> {
    for (const name of names) this.#included.add(name)
    return this.#describe(this.#folders, new Set())
  }

  /** Reads packages again that could not be read. Stored failures of `roots` (absolute paths) do not count. */
  async retry(roots: readonly string[]): Promise<Discovered> {
    for (const root of roots) this.#loader.index.forgetFailure(root)
    return this.#describe(this.#folders, new Set())
  }

  /** Describes plugins: all, or with `changed` only those that these files affect. */
  async #describe(folders: PluginFolders, changed?: ReadonlySet<string>): Promise<Discovered> {
    const problems = [...folders.problems]
    try {
      const sources = await Promise.all([...folders.roots].map(root => this.#described(root, problems, changed)))
      await this.#describeProviders(sources)
      const output = this.#output.splice(0)
      const named = firstOfEachName(sources, problems)
      const installed = new Set(named.filter(({ location }) => this.#isInstalled(location)).map(({ name }) => name))
      const kept = new Map(
        named.flatMap(({ name, location, problem }) => {
          const error = problem === null ? this.#unread.get(location) : undefined
          return error === undefined ? [] : [[name, error] as const]
        })
      )
      return { sources: named, problems, kept, installed, output, ...this.#watched(folders, sources) }
    } finally {
      void this.#describer?.then(describer => describer.endShared())
    }
  }

  async #described(root: string, problems: DiscoveryProblem[], changed?: ReadonlySet<string>): Promise<PluginSource> {
    const known = this.#known.get(root)
    const isUnchanged = changed !== undefined && !this.#unread.has(root) && known?.concerns(changed) === false
    if (known !== undefined && isUnchanged && known.isOff === this.#isOff(known)) return known
    const source = await this.#source(root, problems)
    if (!(source instanceof FileSource) || this.#unread.has(root)) return source
    if (this.#isOff(source)) await source.leaveOff()
    else if (!(await this.#isServedFromSource(source)) || !source.adoptLast()) await source.describe()
    return source
  }

  /**
   * True if a running server keeps the index entry of an installed plugin up to date. Checking its source files would take
   * too long for a command.
   */
  async #isServedFromSource({ installed, form }: FileSource): Promise<boolean> {
    return this.#options.prefer === 'current' && installed && form === 'source' && (await this.#isServed())
  }

  #isServed(): Promise<boolean> {
    return (this.#served ??= isServed(this.#options.projectRoot))
  }

  #isOff(source: FileSource): boolean {
    const { off, only, safe = false } = this.#choice
    if (safe && !source.installed) return true
    const name = this.#loader.index.last(source.location)?.manifest.name ?? source.name
    if (this.#included.has(name)) return false
    return off?.(name) === true || only?.includes(name) === false
  }

  /**
   * Describes further plugins if, with `only`, no known plugin provides a requirement of a selected one: a plugin that
   * was not yet described may provide it.
   */
  async #describeProviders(sources: readonly PluginSource[]): Promise<void> {
    const { off, only, safe = false } = this.#choice
    if (only === undefined) return
    const sketches = sources.filter(
      (source): source is FileSource =>
        source instanceof FileSource && source.isSketch && off?.(source.name) !== true && !(safe && !source.installed)
    )
    if (sketches.length === 0 || !lacksProvider([...only, ...this.#included], sources)) return
    await Promise.all(sketches.map(source => source.describe()))
  }

  /** Returns the paths to watch: the same object if nothing changed. */
  #watched(folders: PluginFolders, sources: readonly PluginSource[]): Watched {
    const parts = [folders, ...sources.map(watchOf)]
    const { of, watched } = this.#watching
    if (of.length === parts.length && parts.every((part, index) => part === of[index])) return watched
    const files = sources.flatMap(watchOf)
    const packages = [...folders.roots].map(root => join(root, 'package.json'))
    const all = {
      files: [...new Set([...files, ...packages, ...folders.candidates])],
      directories: [...folders.directories]
    }
    this.#watching = { of: parts, watched: all }
    return all
  }

  /** Saves the index after a delay, once for several changes. */
  #saveLater(): void {
    clearTimeout(this.#saving)
    this.#saving = setTimeout(() => this.#save(), SAVE_AFTER_MS)
    this.#saving.unref()
  }

  #save(): Promise<void> {
    clearTimeout(this.#saving)
    this.#saved = this.#saved.then(() => this.#loader.index.save())
    return this.#saved
  }

  async close(): Promise<void> {
    await this.#save()
    await this.#describer?.then(describer => describer.close())
    await this.#loader.bundler.dispose()
  }

  async #source(root: string, problems: DiscoveryProblem[]): Promise<PluginSource> {
    const known = this.#known.get(root)
    this.#unread.delete(root)
    try {
      const found = readPluginPackage(root)
      const form = await this.#form(found)
      if (known !== undefined && known.form === form && isDeepStrictEqual(known.package, found)) return known
      const source = new FileSource(found, form, this.#isInstalled(root), this.#loader)
      this.#known.set(root, source)
      return source
    } catch (error) {
      if (!isSvcError(error)) throw error
      if (known === undefined) {
        this.#unread.set(root, error)
        return new BrokenSource(root, this.#loader.index.last(root)?.manifest ?? null, error)
      }
      const { code, message, status, hint, at, cause } = error
      const named = new SvcError(code, message, defined({ status, hint, at, cause, plugin: known.name }))
      this.#unread.set(root, named)
      problems.push({ location: root, error: named })
      return known
    }
  }

  /** True if a package, with links resolved, belongs to the installation. */
  #isInstalled(root: string): boolean {
    const known = this.#isOurs.get(root)
    if (known !== undefined) return known
    const { installRoot } = this.#options
    const folders = [join(installRoot, 'plugins', basename(root)), join(installRoot, basename(root))]
    const ours = folders.some(place => existsSync(place) && realpathSync.native(place) === root)
    this.#isOurs.set(root, ours)
    return ours
  }

  async #form(found: PluginPackage): Promise<PluginForm> {
    const { root, plugin, source, sourceExists } = found
    const { prefer } = this.#options
    const built = existsSync(plugin)
    const isWanted = (): Promise<boolean> | boolean => {
      if (prefer !== 'current' || source === null) return prefer === 'source'
      const { index } = this.#loader
      return isSourceCurrent(found, {
        fromSource: index.last(root)?.entry === source,
        unchanged: () => index.fresh(root, source) !== undefined,
        installed: this.#isInstalled(root),
        isServed: () => this.#isServed()
      })
    }
    if (source !== null && sourceExists && (!built || (await isWanted()))) {
      if (canCompile()) return 'source'
      if (!built)
        throw loaderErrors.create('LDR_ESBUILD_MISSING', `${root} is not built, and esbuild is not installed`, {
          at: { file: source },
          hint: 'npm install esbuild, or build the plugin'
        })
    }
    if (built) return 'built'
    const missing = source === null ? '' : `, and its source ${source} is missing too`
    throw loaderErrors.create(
      'LDR_ENTRY_INVALID',
      `${join(root, 'package.json')}: svc.plugin names ${plugin}, which does not exist${missing}`,
      {
        at: { file: source ?? plugin },
        hint:
          source === null
            ? 'build the plugin, or name its TypeScript file in svc.source'
            : 'create the source file, or correct svc.source'
      }
    )
  }
}

/** True if a plugin is disabled, so that its manifest may be out of date. */
export function isLeftOff(source: PluginSource): boolean {
  return source instanceof FileSource && source.isOff
}

function firstOfEachName(sources: readonly PluginSource[], problems: DiscoveryProblem[]): PluginSource[] {
  const named = new Map<string, PluginSource>()
  // A working package takes precedence over a broken one with the same name.
  const working = sources.filter(source => source.problem === null)
  for (const source of [...working, ...sources.filter(each => each.problem !== null)]) {
    const first = named.get(source.name)
    if (first === undefined) named.set(source.name, source)
    else {
      const usedInstead = { name: first.name, used: first.location }
      problems.push({ location: source.location, error: source.problem ?? taken(first, source), usedInstead })
    }
  }
  return [...named.values()]
}

/** Source of a folder whose package.json declares no valid plugin. */
class BrokenSource implements PluginSource {
  readonly name: string
  readonly location: string
  readonly version = '0.0.0'
  readonly manifest = null
  readonly problem: SvcError
  readonly lapsed: PluginManifest | null
  /** Files to watch: those that the package.json names, existing or not. */
  readonly watch: readonly string[]

  constructor(root: string, lapsed: PluginManifest | null, problem: SvcError) {
    this.name = lapsed?.name ?? nameFor(basename(root))
    this.location = root
    this.problem = problem
    this.lapsed = lapsed
    this.watch = namedFiles(root)
  }

  async prepare(): Promise<never> {
    throw this.problem
  }

  async close(): Promise<void> {}
}

function watchOf(source: PluginSource): readonly string[] {
  return source instanceof FileSource || source instanceof BrokenSource ? source.watch : NONE
}

/** Returns the files that a package.json names, if it can be read. */
function namedFiles(root: string): string[] {
  try {
    const { svc } = readPackageJson(root)
    return [svc?.plugin, svc?.source].flatMap(path => {
      const file = typeof path === 'string' ? resolve(root, path) : root
      return file.startsWith(root + sep) ? [file] : []
    })
  } catch {
    return []
  }
}

/** True if the named plugins, or plugins that they require, need a service that no known manifest provides. */
function lacksProvider(only: readonly string[], sources: readonly PluginSource[]): boolean {
  const manifests = sources.flatMap(({ manifest }) => manifest ?? [])
  const wanted = new Set(only)
  for (const name of wanted) {
    const manifest = manifests.find(each => each.name === name)
    if (manifest === undefined) return true
    for (const token of manifest.requires) {
      if (token.startsWith('kernel.')) continue
      const providers = manifests.filter(each => each.provides.includes(token))
      if (providers.length === 0) return true
      for (const provider of providers) wanted.add(provider.name)
    }
  }
  return false
}

function taken(first: PluginSource, second: PluginSource): SvcError {
  return loaderErrors.create(
    'LDR_NAME_TAKEN',
    `two plugins are named ${first.name}: ${first.location} is used, ${second.location} is ignored`,
    { at: { file: second.location }, plugin: first.name, hint: 'remove or rename one of them' }
  )
}

let compiles = false

function canCompile(): boolean {
  if (compiles) return true
  try {
    createRequire(import.meta.url).resolve('esbuild')
    compiles = true
    return true
  } catch {
    return false
  }
}
