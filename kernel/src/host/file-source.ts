import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Disposer, describePlugin, isSvcError, type PluginManifest, type SvcError } from '@svc/plugin-sdk'
import type { Instance, InstanceHooks, PluginSource, PreparedCode } from '../core/plugin-source.ts'
import type { Bundler } from '../loader/bundle.ts'
import { loaderErrors } from '../loader/errors.ts'
import type { Code, EvaluateOptions } from '../loader/evaluate.ts'
import { PLUGIN_NAME, validateManifest } from '../loader/manifest.ts'
import type { PluginPackage } from '../loader/plugin-package.ts'
import { type IndexEntry, isFresh, type PluginIndex, type Stamp, stamp } from './plugin-index.ts'

/** What every plugin of a host is loaded with. */
export interface Loader {
  readonly bundler: Bundler
  readonly index: PluginIndex
  readonly evaluation: EvaluateOptions
}

const NONE: readonly string[] = []

/** Which of a package's files is loaded: its source, compiled on the way, or what was compiled before. */
export type Form = 'source' | 'built'

/**
 * A plugin on disk.
 *
 * 1. {@link FileSource.describe} learns its manifest: from the index, from `plugin.json`, or by compiling and running the module.
 * 2. {@link FileSource.prepare} gives its code as it is on disk now, compiled only if something changed.
 * 3. {@link FileSource.close} lets go of the compiler's memory of it.
 */
export class FileSource implements PluginSource {
  readonly package: PluginPackage
  readonly form: Form
  readonly #loader: Loader
  #manifest: PluginManifest | null = null
  #problem: SvcError | null = null
  /** The file that a failure pointed at, if it pointed at one; null while there is no failure. */
  #broken: readonly string[] | null = null
  /** What to watch, and what that follows from. */
  #watch: Readonly<Record<'inputs' | 'broken' | 'files', readonly string[]>> = { inputs: [], broken: [], files: [] }
  #code: (PreparedCode & { readonly stamps: readonly Stamp[] }) | null = null
  #turn: Promise<unknown> = Promise.resolve()

  constructor(plugin: PluginPackage, form: Form, loader: Loader) {
    this.package = plugin
    this.form = form
    this.#loader = loader
  }

  get name(): string {
    return this.#manifest?.name ?? nameFor(this.package.packageName)
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

  /** Files whose change may change the plugin or mend its problem; absolute. The same object while they are the same. */
  get watch(): readonly string[] {
    const { root } = this.package
    const inputs = this.#code?.inputs ?? this.#loader.index.last(root)?.inputs ?? NONE
    const broken = this.#broken ?? NONE
    if (this.#watch.inputs === inputs && this.#watch.broken === broken) return this.#watch.files
    const files = [...new Set([join(root, 'package.json'), ...this.#files(), ...inputs, ...broken])]
    this.#watch = { inputs, broken, files: isDeepStrictEqual(files, this.#watch.files) ? this.#watch.files : files }
    return this.#watch.files
  }

  /** Whether it may be another plugin now that these files changed. One that failed may be at any time. */
  concerns(files: ReadonlySet<string>): boolean {
    return this.#broken !== null || this.watch.some(file => files.has(file))
  }

  /** A plugin that made sense before keeps its manifest when it no longer does: what runs is not taken down by a typo. */
  async describe(): Promise<void> {
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
      return this.form === 'built' ? this.#read() : ((await this.#cached()) ?? (await this.#compile()))
    })
  }

  async close(): Promise<void> {
    await this.#code?.bundle
    await this.#loader.bundler.forget(this.package.root)
  }

  /** Two builds of one plugin never overlap. */
  #inTurn<A>(work: () => A | Promise<A>): Promise<A> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** What is nobody's doing: a disk that is full, a folder that is locked. */
  #cannotLoad(cause: unknown): SvcError {
    const { root } = this.package
    const message = `cannot load ${root}: ${cause instanceof Error ? cause.message : String(cause)}`
    return loaderErrors.create('LDR_BUILD_FAILED', message, { at: { file: root }, cause })
  }

  /** The file that is loaded, and what was compiled beside it. */
  #files(): string[] {
    const { plugin, source, entries } = this.package
    if (this.form === 'source' && source !== null) return [source, ...Object.values(entries)]
    const beside = Object.keys(entries).map(name => join(dirname(plugin), `${name}.cjs`))
    return [plugin, join(dirname(plugin), 'plugin.json'), ...beside]
  }

  #known(): IndexEntry | undefined {
    const [entry = ''] = this.#files()
    return this.#loader.index.fresh(this.package.root, entry)
  }

  /** The manifest without the code, where that is possible. */
  async #learn(): Promise<{ readonly manifest: PluginManifest }> {
    if (this.form === 'source') return this.#compile()
    const begun = Date.now()
    const { root, plugin, version } = this.package
    const file = join(dirname(plugin), 'plugin.json')
    const manifest = validateManifest(parse(file, await readEntry(file)), file)
    if (manifest.version !== version)
      throw loaderErrors.create(
        'LDR_MANIFEST_INVALID',
        `${file} belongs to version ${manifest.version}, the package has version ${version}`,
        { at: { file, path: 'version' }, hint: 'build the plugin again', plugin: manifest.name }
      )
    const stamps = stamp([join(root, 'package.json'), file], begun)
    this.#loader.index.set(root, { entry: plugin, stamps, manifest, inputs: [], fingerprint: '' })
    return { manifest }
  }

  async #read(): Promise<PreparedCode> {
    const begun = Date.now()
    const { manifest } = this.#known() ?? (await this.#learn())
    const [plugin = '', manifestFile = '', ...beside] = this.#files()
    const text = await readEntry(plugin)
    const fingerprint = digest(this.version, text) + digest(...(await Promise.all(beside.map(readEntry))))
    const stamps = stamp([join(this.package.root, 'package.json'), plugin, manifestFile, ...beside], begun)
    const known = { entry: plugin, stamps, manifest, inputs: [], fingerprint }
    const code = await withPackages({ name: manifest.name, root: this.package.root, text })
    return this.#ready(known, code, Promise.resolve(plugin))
  }

  /** The compiled source as the index remembers it. */
  async #cached(): Promise<PreparedCode | undefined> {
    const known = this.#known()
    if (known === undefined) return undefined
    const kept = await this.#loader.index.readBundle(known.manifest.name, known.fingerprint.slice(0, DIGEST_LENGTH))
    if (kept === null || !known.fingerprint.startsWith(digest(this.version, kept.text))) return undefined
    const code = await withPackages({ name: known.manifest.name, root: this.package.root, text: kept.text })
    return this.#ready(known, code, Promise.resolve(kept.file))
  }

  async #compile(): Promise<PreparedCode> {
    const begun = Date.now()
    const { root, source, entries, version } = this.package
    const { text, inputs, outputs } = await this.#loader.bundler.bundle({ root, source: source ?? '', entries })
    const code = await withPackages({ name: this.name, root, text })
    const manifest = this.#asBefore(await manifestOf(code, version, this.#loader.evaluation))
    const known: IndexEntry = {
      entry: source ?? '',
      stamps: stamp([join(root, 'package.json'), ...inputs, ...outputs.map(each => each.path)], begun),
      manifest,
      inputs,
      fingerprint: digest(version, text) + digest(...outputs.map(each => each.text))
    }
    this.#loader.index.set(root, known)
    // Nobody waits for the disk but those who read from it, and many wait for the new code.
    const written = setImmediate().then(() =>
      this.#loader.index.writeBundle(manifest.name, digest(version, text), text)
    )
    return this.#ready(known, code, written)
  }

  /** What is declared as it was stays the same object, and with it all that was made of it. */
  #asBefore(manifest: PluginManifest): PluginManifest {
    return this.#manifest !== null && isDeepStrictEqual(manifest, this.#manifest) ? this.#manifest : manifest
  }

  async #ready(known: IndexEntry, named: Code, bundle: PreparedCode['bundle']): Promise<PreparedCode> {
    const { evaluate } = await import('../loader/evaluate.ts')
    const { manifest, fingerprint, stamps } = known
    const { root } = this.package
    const inputs = [...new Set([join(root, 'package.json'), ...this.#files(), ...known.inputs])]
    const code = named.name === manifest.name ? named : { ...named, name: manifest.name }
    const instantiate = (hooks: InstanceHooks): Instance => {
      const { plugin, guards } = evaluate(code, this.#loader.evaluation, hooks)
      if (plugin.name === manifest.name) return { plugin, adopt: open => guards.adopt(open) }
      const message = `${root}: the manifest names ${manifest.name}, the code ${plugin.name}`
      const details = { at: { file: root }, hint: 'build the plugin again', plugin: manifest.name }
      throw loaderErrors.create('LDR_MANIFEST_INVALID', message, details)
    }
    this.#manifest = manifest
    this.#code = { manifest, fingerprint, inputs, bundle, stamps, instantiate }
    return this.#code
  }
}

/** Code with the packages that it needs loaded ahead. */
export async function withPackages(code: Omit<Code, 'preloaded'>): Promise<Code> {
  // Commands that only list plugins never get here.
  const { preload } = await import('../loader/evaluate.ts')
  return { ...code, preloaded: await preload(code.root, code.text) }
}

/** Runs a module body for its manifest alone. */
export async function manifestOf(
  code: Code,
  version: string,
  evaluation: EvaluateOptions = {}
): Promise<PluginManifest> {
  const { evaluate } = await import('../loader/evaluate.ts')
  const disposers: Disposer[] = []
  const hooks: InstanceHooks = {
    effect: (_label, dispose) => {
      disposers.push(dispose)
      return dispose
    },
    // The instance that serves will say it again.
    onLeak: () => {},
    onError: () => {}
  }
  try {
    const { plugin } = evaluate(code, evaluation, hooks)
    return validateManifest(JSON.parse(JSON.stringify(describePlugin(plugin, version))), code.root)
  } finally {
    for (const dispose of disposers) await dispose()
  }
}

/** What a package's plugin is called before its manifest is known. */
export function nameFor(packageName: string): string {
  const name = packageName
    .replace(/^@[^/]+\//, '')
    .replace(/^(svc-)?plugin-/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
  return PLUGIN_NAME.test(name) ? name : 'unnamed'
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

const DIGEST_LENGTH = 16

/** Hex digits of SHA-256; nothing for nothing. */
function digest(...texts: readonly string[]): string {
  if (texts.length === 0) return ''
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('hex').slice(0, DIGEST_LENGTH)
}
