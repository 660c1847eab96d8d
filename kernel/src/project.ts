import { join } from 'node:path'
import {
  type BuildReport,
  type ChangeReport,
  type ConfigProblem,
  type KernelAdmin,
  type KernelChange,
  kernelAdmin,
  secretsResolver
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { createAdmin } from './admin.ts'
import type { Catalog } from './catalog.ts'
import { diffConfig } from './config/diff.ts'
import { writePluginEnabled } from './config/edit.ts'
import { configSchema } from './config/editor-schema.ts'
import { type PolicySettings, toPolicy } from './config/kernel-settings.ts'
import { formatProblem, problemsError } from './config/problem.ts'
import { type ResolvedConfig, resolveConfig } from './config/resolve.ts'
import { Kernel, type PluginConfiguration } from './kernel.ts'
import { ownerOf, ownerOfFile } from './loader/attribution.ts'
import { buildPlugin } from './loader/build.ts'
import type { Watcher } from './loader/watch.ts'
import type { KernelLogger } from './log.ts'
import { repositoryIdOf } from './repository-id.ts'
import { version } from './version.ts'

export interface ProjectOptions {
  readonly catalog: Catalog
  /** Run only these plugins and what they need; the others count as switched off. */
  readonly only?: readonly string[]
  /** Activate only these and what they need, and leave the others as they are: for one command. */
  readonly activate?: readonly string[]
  readonly watch?: boolean
  readonly logLevel?: string
  readonly logFormat?: 'pretty' | 'json'
  /** Whether a configuration with errors will do: for a command that manages it. What is wrong counts as not said. */
  readonly tolerant?: boolean
  /** In place of a log by level and format. */
  readonly log?: KernelLogger
  /** Whether uncaught errors of the whole process are attributed to plugins. */
  readonly ownsProcess?: boolean
}

/**
 * A kernel over the files of a project: discovers plugins, understands the configuration, watches both.
 * Throws `CFG_…` for a configuration that cannot be used, and what a plugin threw whose policy is to abort.
 */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const config = resolveConfig(options.catalog.sources, options.catalog.manifests)
  // A server does not start with less than it was told to run; one command needs its own plugin alone.
  const relevant = options.activate === undefined ? config.problems : config.generalProblems
  const fatal = relevant.filter(problem => problem.severity === 'error')
  if (fatal.length > 0 && options.tolerant !== true) throw problemsError(fatal)
  const log = options.log ?? (await serverLog(options, config))
  const project = new Project(options, config, log)
  try {
    await project.start()
    return project
  } catch (error) {
    await project.close()
    throw error
  }
}

async function serverLog(options: ProjectOptions, { kernel }: ResolvedConfig): Promise<KernelLogger> {
  // A single command has a log of its own and does not pay for this one.
  const { createLogger } = await import('./log.ts')
  return createLogger({
    level: options.logLevel ?? kernel.log_level,
    format: options.logFormat ?? kernel.log_format ?? (process.stderr.isTTY ? 'pretty' : 'json')
  })
}

export class Project {
  readonly kernel: Kernel
  readonly admin: KernelAdmin
  readonly log: KernelLogger
  /** Settles when the project must end: never by itself, unless an error cannot be survived. */
  readonly ended: Promise<void>
  readonly #options: ProjectOptions
  #catalog: Catalog
  #config: ResolvedConfig
  /** Switches of this run, over the configuration. */
  readonly #switches = new Map<string, boolean>()
  #watcher: Watcher | undefined
  #end: (error?: Error) => void = () => {}
  readonly #uncaught = (error: unknown): void => this.#attribute(error)

  constructor(options: ProjectOptions, config: ResolvedConfig, log: KernelLogger) {
    this.#options = options
    this.#catalog = options.catalog
    this.#config = config
    this.log = log
    this.ended = new Promise((resolve, reject) => {
      this.#end = error => (error === undefined ? resolve() : reject(error))
    })
    this.ended.catch(() => {})
    this.admin = createAdmin(this.#adminHost())
    const { projectRoot } = options.catalog
    this.kernel = new Kernel({
      log,
      projectRoot,
      dataRoot: options.catalog.state,
      repositoryId: config.kernel.repository_id ?? repositoryIdOf(projectRoot),
      version: version,
      services: new Map([[kernelAdmin.id, this.admin]]),
      ...(options.activate === undefined ? {} : { activate: this.#closure(options.activate) })
    })
  }

  async start(): Promise<void> {
    this.#reportFindings()
    if (this.#options.ownsProcess === true) {
      process.on('uncaughtException', this.#uncaught)
      process.on('unhandledRejection', this.#uncaught)
    }
    // First, so that nothing is missed that is saved while plugins activate; such a change waits for its turn.
    if (this.#options.watch ?? this.#config.kernel.watch) await this.#watch()
    await this.kernel.change({
      boot: true,
      sources: this.#catalog.found.sources,
      configuration: this.#configuration()
    })
  }

  /** Reads files and folders again and applies what changed. What is invalid is reported and changes nothing. */
  async reconfigure(stale: readonly string[] = []): Promise<void> {
    try {
      await this.#adopt(await this.#catalog.again(), stale)
    } catch (error) {
      this.log.error(`change refused: ${error instanceof Error ? error.message : String(error)}`, { error })
    }
    await this.#updateWatcher()
  }

  async close(): Promise<void> {
    process.off('uncaughtException', this.#uncaught)
    process.off('unhandledRejection', this.#uncaught)
    await this.#watcher?.close()
    await this.kernel.close()
    await this.#catalog.close()
  }

  async #adopt(catalog: Catalog, stale: readonly string[]): Promise<ChangeReport> {
    const config = resolveConfig(catalog.sources, catalog.manifests)
    this.#report(config.problems)
    const fatal = config.generalProblems.filter(problem => problem.severity === 'error')
    if (fatal.length > 0) throw problemsError(fatal)
    for (const [name, plugin] of config.plugins) {
      // A running plugin keeps its settings when the new ones are wrong.
      const wrong = plugin.problems.filter(problem => problem.severity === 'error')
      if (wrong.length > 0 && this.kernel.current.units.has(name)) throw problemsError(wrong)
    }
    const diff = diffConfig(this.#config, config)
    const previous = { catalog: this.#catalog, config: this.#config }
    this.#catalog = catalog
    this.#config = config
    try {
      const report = await this.kernel.change({
        sources: catalog.found.sources,
        configuration: this.#configuration(),
        stale
      })
      for (const [name, { settings }] of diff.plugins) {
        if (settings.live.length > 0 && !report.replace.includes(name)) await this.kernel.reconfigure(name)
        if (settings.restart.length > 0) this.log.warn(`${settings.restart.join(', ')}: takes effect after a restart`)
      }
      if (diff.kernel.live.includes('kernel.log_level')) this.log.setLevel(config.kernel.log_level)
      if (diff.kernel.restart.length > 0)
        this.log.warn(`${diff.kernel.restart.join(', ')}: takes effect after a restart`)
      return report
    } catch (error) {
      this.#catalog = previous.catalog
      this.#config = previous.config
      throw error
    }
  }

  /** Enable, disable and reload, asked for by a person. */
  async #apply(change: KernelChange, dryRun: boolean): Promise<ChangeReport> {
    const before = new Map(this.#switches)
    for (const name of change.enable ?? []) {
      this.#switches.set(name, true)
      this.kernel.records.get(name)?.forgive()
    }
    for (const name of change.disable ?? []) this.#switches.set(name, false)
    try {
      const stale = change.reload ?? []
      const report = await this.kernel.change({ configuration: this.#configuration(), stale, forced: stale, dryRun })
      if (dryRun) this.#restoreSwitches(before)
      else if (change.persist === true) {
        for (const name of change.enable ?? []) writePluginEnabled(this.#catalog.sources.projectFile, name, true)
        for (const name of change.disable ?? []) writePluginEnabled(this.#catalog.sources.projectFile, name, false)
      }
      return report
    } catch (error) {
      this.#restoreSwitches(before)
      throw error
    }
  }

  #restoreSwitches(before: ReadonlyMap<string, boolean>): void {
    this.#switches.clear()
    for (const [name, on] of before) this.#switches.set(name, on)
  }

  #configuration(): (name: string) => PluginConfiguration {
    const config = this.#config
    // A single command brings its own plugin along.
    const told = this.#options.only ?? (this.#options.activate === undefined ? config.kernel.only : undefined)
    const only = told === undefined ? undefined : this.#closure(told)
    const switches = new Map(this.#switches)
    return name => {
      const plugin = config.plugins.get(name)
      const left = only !== undefined && !only.has(name)
      const enabled = left ? false : (switches.get(name) ?? (only === undefined ? plugin?.enabled : true))
      if (plugin === undefined) return unconfigured(name, config)
      return { ...plugin, enabled, error: left ? 'left out by --only' : plugin.error }
    }
  }

  /** The named plugins and the providers of everything that they require. */
  #closure(names: readonly string[]): Set<string> {
    const { manifests } = this.#catalog
    const wanted = new Set(names)
    for (const name of wanted) {
      const requires = [...(manifests.find(each => each.name === name)?.requires ?? [])]
      if (this.#config.plugins.get(name)?.needsSecrets) requires.push(secretsResolver.id)
      for (const token of requires) {
        for (const provider of manifests) if (provider.provides.includes(token)) wanted.add(provider.name)
      }
    }
    return wanted
  }

  async #watch(): Promise<void> {
    const { Watcher } = await import('./loader/watch.ts')
    this.#watcher = new Watcher({
      onChange: paths => this.#changed(paths),
      onError: error => this.log.error('watching files failed', { error })
    })
    await this.#updateWatcher()
  }

  async #updateWatcher(): Promise<void> {
    const { found, sources } = this.#catalog
    await this.#watcher?.update({ files: [...found.files, ...sources.files], directories: found.directories })
  }

  async #changed(files: readonly string[]): Promise<void> {
    const changed = new Set(files)
    const stale = [...this.kernel.records.values()]
      .filter(
        record =>
          record.code?.inputs.some(file => changed.has(file)) ??
          files.some(file => file.startsWith(record.source.location))
      )
      .map(record => record.name)
    await this.reconfigure(stale)
  }

  /** A single command hears of its own plugin's problems as an error, and of the others' when it asks. */
  #reportFindings(): void {
    if (this.#options.tolerant === true) return
    this.#report(this.#options.activate === undefined ? this.#config.problems : this.#config.generalProblems)
    for (const { error } of this.#catalog.found.problems) {
      this.log.warn(error.message, { code: error.code, hint: error.hint })
    }
  }

  #report(problems: readonly ConfigProblem[]): void {
    for (const problem of problems) {
      const { code, hint } = problem
      if (problem.severity === 'error') this.log.error(formatProblem(problem), { code, hint })
      else this.log.warn(formatProblem(problem), { code, hint })
    }
  }

  /** An error that nobody caught: its plugin pays by its policy; without an owner the process ends, its state unknown. */
  #attribute(error: unknown): void {
    if (isSvcError(error, 'LDR_CLOSED') || isSvcError(error, 'KRN_SCOPE_CLOSED')) {
      // Code of a unit that is gone: whoever serves under its name now has nothing to do with it.
      this.log.warn(`disposed code tried to go on: ${error.message}`, { error })
      return
    }
    const owner = ownerOf(error)
    const unit = owner === undefined ? undefined : this.kernel.current.units.get(owner)
    if (unit !== undefined) {
      this.kernel.uncaught(unit, error)
      return
    }
    this.log.error('uncaught error that belongs to no plugin; stopping', { error })
    this.#end(error instanceof Error ? error : new Error(String(error)))
  }

  #adminHost(): Parameters<typeof createAdmin>[0] {
    const project = this
    return {
      get kernel() {
        return project.kernel
      },
      get config() {
        return project.#config
      },
      apply: (change, dryRun) => this.#apply(change, dryRun),
      readAgain: async () => {
        const catalog = await this.#catalog.again()
        return resolveConfig(catalog.sources, catalog.manifests).problems
      },
      build: directory => build(directory),
      configSchema: () => configSchema(this.#catalog.manifests),
      stop: reason => {
        this.log.info(`asked to stop: ${reason}`)
        this.#end()
      },
      ownerOf: ownerOfFile
    }
  }
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

async function build(directory: string): Promise<BuildReport> {
  const { name, version } = await buildPlugin(directory)
  return { name, version, files: ['plugin.cjs', 'plugin.json'].map(file => join(directory, 'dist', file)) }
}
