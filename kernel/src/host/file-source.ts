import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { UnitPage } from '@svc/contracts'
import {
  defined,
  errorMessage,
  isSvcError,
  type Permissions,
  type PluginManifest,
  SDK_VERSION,
  type SvcError
} from '@svc/plugin-sdk'
import type { Instance, InstanceHooks, PluginSource, PreparedCode } from '../core/plugin-source.ts'
import type { Describer } from '../isolation/describer.ts'
import { decodeError, encodeError } from '../isolation/remote-error.ts'
import type { Bundler } from '../loader/bundle.ts'
import { type CachedCode, DIGEST_LENGTH, digest, readCodeCache } from '../loader/code-cache.ts'
import { loaderErrors } from '../loader/errors.ts'
import type { EvaluateOptions } from '../loader/evaluate.ts'
import { nameFor, validateManifest } from '../loader/manifest.ts'
import type { PluginPackage } from '../loader/plugin-package.ts'
import type { LoadMarker } from './load-marker.ts'
import { type IndexEntry, isFresh, type PluginIndex, type Stamp, stamp } from './plugin-index.ts'
import type { PluginPages } from './plugin-pages.ts'

/** Loading services that all plugins of a host share. */
export interface Loader {
  readonly bundler: Bundler
  readonly pages: PluginPages
  readonly index: PluginIndex
  readonly evaluation: EvaluateOptions
  readonly marker: LoadMarker
  /** Returns the describer, which is loaded on first use. */
  describer(): Promise<Describer>
  readonly describeTimeoutMs: number
  /** Returns the permissions that `svc.toml` grants a plugin. */
  grants(plugin: string): Permissions | null
}

/** Compiled code of a plugin with its index entry. */
interface Compiled {
  readonly known: IndexEntry
  readonly text: string
  /** Path of the bundle file, once it is written. */
  readonly bundle: PreparedCode['bundle']
  readonly cached?: CachedCode
}

const NONE: readonly string[] = []

/** Form in which a package is loaded: from its source, which is compiled, or from its build. */
export type PluginForm = 'source' | 'built'

/** Failures that take seconds to detect, so the index stores them. */
const SLOW_FAILURES: ReadonlySet<string> = new Set(['LDR_DESCRIBE_TIMEOUT', 'LDR_DESCRIBE_CRASHED'])

/**
 * Plugin on disk.
 *
 * 1. {@link FileSource.describe} reads the manifest: from the index, from `plugin.json`, or by compiling the module and
 *    running it in a sandboxed process. {@link FileSource.leaveOff} uses only known data.
 * 2. {@link FileSource.prepare} returns the current code. It compiles only if a file changed.
 * 3. {@link FileSource.close} frees the compiler's memory for the plugin.
 */
export class FileSource implements PluginSource {
  readonly package: PluginPackage
  readonly form: PluginForm
  /** True if the plugin belongs to the installation of svc. */
  readonly installed: boolean
  readonly #loader: Loader
  #manifest: PluginManifest | null = null
  #problem: SvcError | null = null
  /** Files that the last failure names; null if there was none. */
  #broken: readonly string[] | null = null
  /** Watched files with the lists that they were computed from. */
  #watch: Readonly<Record<'inputs' | 'broken' | 'files', readonly string[]>> = { inputs: [], broken: [], files: [] }
  #code: (PreparedCode & { readonly stamps: readonly Stamp[] }) | null = null
  #compiled: Compiled | null = null
  /** Page modules, once the name of the plugin is known for certain. */
  #pages: ReadonlyMap<string, UnitPage> | undefined
  /** True if the plugin is disabled: neither compiled nor run, and only its package.json is watched. */
  #off = false
  #sketch: PluginManifest | null = null
  readonly #watchOff: readonly string[]
  #turn: Promise<unknown> = Promise.resolve()

  constructor(plugin: PluginPackage, form: PluginForm, installed: boolean, loader: Loader) {
    this.package = plugin
    this.form = form
    this.installed = installed
    this.#watchOff = [join(plugin.root, 'package.json')]
    this.#loader = loader
  }

  get name(): string {
    return this.#manifest?.name ?? this.package.pluginName ?? nameFor(this.package.packageName)
  }
  get location(): string {
    return this.package.root
  }
  get version(): string {
    return this.package.version
  }
  get manifest(): PluginManifest | null {
    return this.#manifest
  }
  get problem(): SvcError | null {
    return this.#problem
  }
  get lapsed(): PluginManifest | null {
    return this.#problem === null ? null : (this.#loader.index.last(this.package.root)?.manifest ?? null)
  }

  /** True if only the package.json of the plugin is known. */
  get isSketch(): boolean {
    return this.#sketch !== null && this.#manifest === this.#sketch
  }

  get isOff(): boolean {
    return this.#off
  }

  /**
   * Absolute paths of files whose change may change the plugin or fix its problem. The same array until the list
   * changes.
   */
  get watch(): readonly string[] {
    const { root } = this.package
    if (this.#off) return this.#watchOff
    const inputs = this.#compiled?.known.inputs ?? this.#code?.inputs ?? this.#loader.index.last(root)?.inputs ?? NONE
    const broken = this.#broken ?? NONE
    if (this.#watch.inputs === inputs && this.#watch.broken === broken) return this.#watch.files
    const { plugin, source } = this.package
    const named = [plugin, ...(source === null ? [] : [source])]
    const files = [...new Set([join(root, 'package.json'), ...named, ...this.#files(), ...inputs, ...broken])]
    this.#watch = { inputs, broken, files: isDeepStrictEqual(files, this.#watch.files) ? this.#watch.files : files }
    return this.#watch.files
  }

  /** True if these changed files may affect the plugin. Always true after a failure. */
  concerns(files: ReadonlySet<string>): boolean {
    return this.#broken !== null || this.watch.some(file => files.has(file))
  }

  /**
   * Marks the plugin disabled. Its manifest comes from the index, from `plugin.json`, or from package.json. Compiles
   * and runs nothing.
   */
  async leaveOff(): Promise<void> {
    this.#off = true
    this.#problem = null
    this.#broken = null
    const known =
      this.#known() ?? (await this.#built().catch(() => undefined)) ?? this.#loader.index.last(this.package.root)
    this.#sketch ??= known === undefined ? sketch(this.package) : null
    this.#manifest = known === undefined ? this.#sketch : this.#asBefore(known.manifest)
  }

  /** Uses the last manifest in the index without checking that it is up to date. Returns false if there is none. */
  adoptLast(): boolean {
    const [entry] = this.#files()
    const last = this.#loader.index.last(this.package.root)
    if (last === undefined || last.entry !== entry) return false
    this.#off = false
    this.#manifest = this.#asBefore(last.manifest)
    this.#problem = null
    this.#broken = null
    return true
  }

  /**
   * Reads the manifest. If a valid plugin becomes invalid, it keeps its manifest: a typo must not stop a running
   * plugin.
   */
  async describe(): Promise<void> {
    if (this.isSketch) this.#manifest = null
    this.#off = false
    try {
      const { manifest } = await this.#inTurn(async () => this.#known() ?? (await this.#learn()))
      this.#manifest = this.#asBefore(manifest)
      this.#problem = null
      this.#broken = null
    } catch (error) {
      const problem = isSvcError(error) ? error : this.#cannotLoad(error)
      this.#broken = problem.at?.file === undefined ? [] : [problem.at.file]
      if (this.#manifest === null) this.#problem = problem
    }
  }

  prepare(): Promise<PreparedCode> {
    return this.#inTurn(async () => {
      if (this.#code !== null && isFresh(this.#code.stamps)) return this.#code
      if (this.form === 'built') return this.#read()
      if (this.#compiled !== null && isFresh(this.#compiled.known.stamps)) return this.#ready(this.#compiled)
      return this.#ready((await this.#cached()) ?? (await this.#compile()))
    })
  }

  async close(): Promise<void> {
    if (this.#pages !== undefined) this.#loader.pages.release(this.#pages)
    await this.#code?.bundle
    await this.#loader.bundler.forget(this.package.root)
  }

  /** Runs work in a queue, so that two builds of one plugin never overlap. */
  #inTurn<A>(work: () => A | Promise<A>): Promise<A> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Returns the error for a failure outside the plugin, such as a full disk or a locked folder. */
  #cannotLoad(cause: unknown): SvcError {
    const { root } = this.package
    const message = `cannot load ${root}: ${errorMessage(cause)}`
    return loaderErrors.create('LDR_BUILD_FAILED', message, { at: { file: root }, cause })
  }

  /** Returns the entry file, followed by the manifest and worker files that belong to it. */
  #files(): string[] {
    const { plugin, source, entries } = this.package
    if (this.form === 'source' && source !== null) return [source, ...Object.values(entries)]
    const workers = Object.keys(entries).map(name => join(dirname(plugin), `${name}.cjs`))
    return [plugin, join(dirname(plugin), 'plugin.json'), ...workers]
  }

  /** Returns a digest of the names and files of pages: another list needs another unit, a changed page does not. */
  #pageDigest(): string {
    return digest(...Object.entries(this.package.pages).flat())
  }

  #known(): IndexEntry | undefined {
    const [entry = ''] = this.#files()
    return this.#loader.index.fresh(this.package.root, entry)
  }

  /** Reads the manifest. Compiles an unbuilt plugin; of a built one, reads only `plugin.json`. */
  async #learn(): Promise<{ readonly manifest: PluginManifest }> {
    if (this.form === 'source') return (await this.#compile()).known
    return this.#built()
  }

  async #built(): Promise<{ readonly manifest: PluginManifest }> {
    const begun = Date.now()
    const { root, plugin, version } = this.package
    const file = join(dirname(plugin), 'plugin.json')
    const manifest = validateManifest(parse(file, await readEntry(file)), file)
    if (manifest.version !== version)
      throw loaderErrors.create(
        'LDR_MANIFEST_INVALID',
        `${file} was built for version ${manifest.version}, but the package has version ${version}`,
        { at: { file, path: 'version' }, hint: 'build the plugin again', plugin: manifest.name }
      )
    const stamps = stamp([join(root, 'package.json'), file], begun)
    if (this.form === 'built')
      this.#loader.index.set(root, { entry: plugin, stamps, manifest, inputs: [], fingerprint: '' })
    return { manifest }
  }

  async #read(): Promise<PreparedCode> {
    const begun = Date.now()
    if (this.#known() === undefined) await this.#learn()
    const [plugin = ''] = this.#files()
    const text = await readEntry(plugin)
    const known = this.#hashed() ?? (await this.#hash(text, begun))
    // Only for the installation: V8 does not verify cached code, so caches of other packages are not trusted.
    const cached = this.installed ? await readCodeCache(plugin, known.fingerprint.slice(0, DIGEST_LENGTH)) : undefined
    return this.#ready({ known, text, bundle: Promise.resolve(plugin), ...defined({ cached }) })
  }

  /** Returns the index entry of a built plugin if it has hashes. Call it after reading the code, so that it matches. */
  #hashed(): IndexEntry | undefined {
    const known = this.#known()
    return known === undefined || known.fingerprint === '' ? undefined : known
  }

  /** Hashes the files of a built plugin and stores the hashes in the index. */
  async #hash(text: string, begun: number): Promise<IndexEntry> {
    const { manifest } = this.#known() ?? (await this.#learn())
    const [plugin = '', manifestFile = '', ...workers] = this.#files()
    const others = digest(...(await Promise.all(workers.map(readEntry)))) + this.#pageDigest()
    const fingerprint = digest(this.version, text) + others
    const stamps = stamp([join(this.package.root, 'package.json'), plugin, manifestFile, ...workers], begun)
    const known = { entry: plugin, stamps, manifest, inputs: [], fingerprint }
    this.#loader.index.set(this.package.root, known)
    return known
  }

  /** Returns the compiled source from the index, if it is up to date. */
  async #cached(): Promise<Compiled | undefined> {
    const known = this.#known()
    if (known === undefined) return undefined
    const kept = await this.#loader.index.readBundle(known.manifest.name, known.fingerprint.slice(0, DIGEST_LENGTH))
    if (kept === null || !known.fingerprint.startsWith(digest(this.version, kept.text))) return undefined
    return { known, text: kept.text, bundle: Promise.resolve(kept.file) }
  }

  /** Compiles the source and reads its manifest. Runs none of its code in this process. */
  async #compile(): Promise<Compiled> {
    const begun = Date.now()
    const { root, source, entries, version } = this.package
    const entry = source ?? ''
    const failure = this.#loader.index.failure(root, entry, this.#loader.describeTimeoutMs)
    if (failure !== undefined) throw decodeError(failure.error)
    const { text, inputs, outputs } = await this.#loader.bundler.bundle({ root, source: entry, entries })
    const fingerprint = digest(version, text) + digest(...outputs.map(each => each.text)) + this.#pageDigest()
    const stamps = stamp([join(root, 'package.json'), ...inputs, ...outputs.map(each => each.path)], begun)
    const last = this.#loader.index.last(root)
    const isDescribed = last?.entry === entry && last.fingerprint === fingerprint
    const described = isDescribed ? last.manifest : await this.#described(text, { entry, stamps, inputs })
    const manifest = this.#asBefore(described)
    const known: IndexEntry = { entry, stamps, manifest, inputs, fingerprint }
    this.#loader.index.set(root, known)
    // Written in the background, so that the new code can serve before the file exists.
    const bundle = setImmediate().then(() => this.#loader.index.writeBundle(manifest.name, digest(version, text), text))
    this.#compiled = { known, text, bundle }
    return this.#compiled
  }

  async #described(text: string, files: Pick<IndexEntry, 'entry' | 'stamps' | 'inputs'>): Promise<PluginManifest> {
    const { name, installed } = this
    const { root, version } = this.package
    try {
      const describer = await this.#loader.describer()
      return await describer.describe({
        root,
        name,
        version,
        text,
        grants: this.#loader.grants(name),
        shared: installed
      })
    } catch (error) {
      const limitMs = this.#loader.describeTimeoutMs
      if (isSvcError(error) && SLOW_FAILURES.has(error.code))
        this.#loader.index.fail(root, { ...files, limitMs, error: encodeError(error) })
      throw error
    }
  }

  /** Returns the previous object if the manifest is unchanged, so that caches keyed by it stay valid. */
  #asBefore(manifest: PluginManifest): PluginManifest {
    return this.#manifest !== null && isDeepStrictEqual(manifest, this.#manifest) ? this.#manifest : manifest
  }

  /** Marks the activation as begun. Throws `LDR_QUARANTINED` if this version of the code crashed the process before. */
  #mark(plugin: string, fingerprint: string): void {
    const { marker } = this.#loader
    if (marker.crashed(plugin, fingerprint))
      throw loaderErrors.create(
        'LDR_QUARANTINED',
        `${plugin}: svc crashed while it activated this version of the plugin`,
        {
          plugin,
          at: { file: this.package.root },
          hint: `fix the plugin, or retry it: svc plugins enable ${plugin}`
        }
      )
    marker.begin(plugin, fingerprint)
  }

  /** Loads the packages that the code imports, before its module body runs. */
  async #ready({ known, text, bundle, cached }: Compiled): Promise<PreparedCode> {
    const { evaluate, withPackages } = await import('../loader/evaluate.ts')
    const { manifest, fingerprint, stamps } = known
    const { root } = this.package
    const code = await withPackages({ name: manifest.name, root, text, ...defined({ cached }) })
    const inputs = [...new Set([join(root, 'package.json'), ...this.#files(), ...known.inputs])]
    const instantiate = (hooks: InstanceHooks): Instance => {
      if (!this.installed) this.#mark(manifest.name, fingerprint)
      const { plugin, guards } = evaluate(code, this.#loader.evaluation, hooks)
      if (plugin.name === manifest.name) return { plugin, adopt: open => guards.adopt(open) }
      const message = `${root}: the manifest declares the name ${manifest.name}, but the code declares ${plugin.name}`
      const details = { at: { file: root }, hint: 'build the plugin again', plugin: manifest.name }
      throw loaderErrors.create('LDR_MANIFEST_INVALID', message, details)
    }
    this.#manifest = manifest
    this.#pages ??= this.#loader.pages.open(this.package, manifest.name, this.form === 'source')
    this.#code = { manifest, fingerprint, inputs, bundle, stamps, pages: this.#pages, instantiate }
    return this.#code
  }
}

/** Creates the manifest of a plugin that was never read. It declares only the name. */
function sketch({ pluginName, packageName, version }: PluginPackage): PluginManifest {
  return {
    manifest: 1,
    name: pluginName ?? nameFor(packageName),
    version,
    summary: '',
    sdk: SDK_VERSION,
    requires: [],
    optional: [],
    refs: [],
    after: [],
    provides: [],
    operations: [],
    points: [],
    hooks: [],
    commands: [],
    config: { type: 'object' },
    permissions: {},
    enabledByDefault: true
  }
}

async function readEntry(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw loaderErrors.create('LDR_ENTRY_INVALID', `cannot read ${file}: ${(cause as Error).message}`, {
      at: { file },
      hint: 'build the plugin',
      cause
    })
  }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw loaderErrors.create('LDR_MANIFEST_INVALID', `${file} is not JSON: ${(cause as Error).message}`, {
      at: { file },
      hint: 'build the plugin again',
      cause
    })
  }
}
