import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { formatProblem, problemsError, rememberFile, switchFile, writeSwitch } from '@svc/config'
import {
  type BuildReport,
  type ChangeReport,
  type ConfigProblem,
  configurationApplied,
  type KernelAdmin,
  type KernelChange,
  kernelAdmin,
  logLines,
  type PluginState,
  pagesTopic
} from '@svc/contracts'
import { errorMessage, type ServiceId, type SvcError } from '@svc/plugin-sdk'
import type { Configure } from '../core/inventory.ts'
import { Kernel } from '../core/kernel.ts'
import type { KernelLogger } from '../core/logger.ts'
import type { PluginSource } from '../core/plugin-source.ts'
import { ownerOfFile } from '../guards/attribution.ts'
import { isolationHosts } from '../isolation/unit-host.ts'
import { buildPlugin } from '../loader/build.ts'
import { builtPage, readPluginPackage } from '../loader/plugin-package.ts'
import type { Watcher } from '../loader/watch.ts'
import { createAdmin } from './admin.ts'
import type { PluginCatalog } from './catalog.ts'
import { type ChoiceOptions, Choices } from './choices.ts'
import { type ConfigDiff, changedSettings, diffConfig } from './config-diff.ts'
import { type EditorHost, FileEditor } from './config-editor.ts'
import { ConfigHistory } from './config-history.ts'
import { isLeftOff } from './discovery.ts'
import { Findings, findingsIn } from './findings.ts'
import { GenerationLog } from './generation-log.ts'
import { holdSettings } from './held-settings.ts'
import { KnownGuards } from './known-guards.ts'
import type { PageWatch } from './page-watch.ts'
import { type ResolvedConfig, resolveConfig } from './plugin-config.ts'
import { makePrivate } from './private-state.ts'
import { repositoryIdOf } from './repository-id.ts'
import { configSchema } from './sections.ts'
import { catchUncaught } from './uncaught.ts'
import { REREAD_MS, UnfinishedSaves } from './unfinished-saves.ts'
import { version } from './version.ts'

/** Resolution of file times in milliseconds. */
const CLOCK_TICK_MS = 10

/** Files that the cause of a generation names. */
const MAX_NAMED_FILES = 3

export interface ProjectOptions extends ChoiceOptions {
  readonly catalog: PluginCatalog
  readonly watch?: boolean
  /** True (default) for a server; false for a single command. */
  readonly serves?: boolean
  readonly logLevel?: string
  readonly logFormat?: 'pretty' | 'json'
  /** True to open the project even if its configuration is invalid. Invalid values count as absent. */
  readonly tolerant?: boolean
  /** Log to use. Default: one with `logLevel` and `logFormat`. */
  readonly log?: KernelLogger
  /** True to attribute uncaught errors of the whole process to plugins. */
  readonly ownsProcess?: boolean
}

/** Kernel for a project folder: discovers plugins, reads the configuration and watches both. */
export class Project {
  readonly kernel: Kernel
  readonly admin: KernelAdmin
  readonly log: KernelLogger
  /** Settles when the project must end: resolves on a request to stop, rejects on a fatal error. */
  readonly ended: Promise<void>
  readonly #options: ProjectOptions
  readonly #choices: Choices
  #catalog: PluginCatalog
  #config: ResolvedConfig
  /** Configuration as in the files. In `#config`, plugins with rejected settings keep their earlier ones. */
  #read: ResolvedConfig
  readonly #findings: Findings
  readonly #generations = new GenerationLog(() => this.kernel)
  /** Catalog that was read last, even if it was not applied. Its files are watched. */
  #seen: PluginCatalog
  /** Configuration of `#seen`. */
  #seenConfig: ResolvedConfig
  /** Plugins whose files changed since their code was read. They stay listed until a change succeeds. */
  readonly #stale = new Set<string>()
  #watcher: Watcher | undefined
  #pageWatch: PageWatch | undefined
  /** File lists that are being watched. */
  #watched: { readonly found: readonly string[]; readonly sources: PluginCatalog['sources'] } | undefined
  #release: () => void = () => {}
  #end: (error?: Error) => void = () => {}
  /** Queue of changes. */
  #turn: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | undefined
  readonly #unfinished: UnfinishedSaves
  #rereading: NodeJS.Timeout | undefined

  constructor(options: ProjectOptions, config: ResolvedConfig, log: KernelLogger) {
    this.#options = options
    this.#choices = new Choices(options)
    this.#catalog = options.catalog
    this.#seen = options.catalog
    this.#config = config
    this.#read = config
    this.#seenConfig = config
    this.log = log
    this.#findings = new Findings(log)
    this.#unfinished = new UnfinishedSaves(log)
    this.ended = new Promise((resolve, reject) => {
      this.#end = error => (error === undefined ? resolve() : reject(error))
    })
    this.ended.catch(() => {})
    this.admin = createAdmin(this.#adminHost())
    const { projectRoot, state } = options.catalog
    this.kernel = new Kernel({
      unitHosts: isolationHosts,
      log,
      projectRoot,
      dataRoot: state,
      repositoryId: config.kernel.repository_id ?? repositoryIdOf(projectRoot),
      version,
      tapTimeoutMs: config.kernel.tap_timeout_ms,
      services: new Map<ServiceId, unknown>([
        [kernelAdmin.id, this.admin],
        ...(log.lines === undefined ? [] : [[logLines.id, log.lines] as const])
      ]),
      onState: (plugin, state) => {
        if (state !== 'loading' && state !== 'activating') options.catalog.marker.end(plugin)
      },
      onChange: (cause, ms, outcome) => {
        if ('report' in outcome) this.#generations.served(cause, ms, outcome.report)
        else this.#generations.refused(cause, ms, outcome.error)
      },
      onFatal: error => this.#end(error instanceof Error ? error : new Error(String(error)))
    })
  }

  /** Catalog in force. */
  get catalog(): PluginCatalog {
    return this.#catalog
  }

  start(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#options.serves !== false) {
        this.#catalog.marker.arm()
        this.#makeStatePrivate()
      }
      this.#printOutput(this.#catalog)
      this.#reportFindings()
      this.#catalog.pages.follow(begun => this.#pageLoaded(begun))
      if (this.#options.ownsProcess === true) this.#release = catchUncaught(this.kernel, error => this.#end(error))
      // Watching starts before activation, so that no save is missed. A change during activation waits in the queue.
      if (this.#options.watch ?? this.#config.kernel.watch) await this.#watch()
      await this.kernel.change({ sources: this.#catalog.found.sources, ...this.#wanted(), cause: 'start of svc' })
      this.#rememberGuards()
    })
  }

  #rememberGuards(): void {
    if (this.#options.serves !== false) new KnownGuards(this.#catalog.state).remember(this.#read.resolved)
  }

  #makeStatePrivate(): void {
    const { state } = this.#catalog
    const entries = this.#config.kernel.private_state ? makePrivate(state) : 0
    if (entries > 0)
      this.log.info(`other users can no longer read ${state}`, { entries, setting: 'kernel.private_state' })
  }

  /** Reads configuration and plugins again and applies changes. Invalid changes are reported and have no effect. */
  reconfigure(): Promise<void> {
    return this.#reread(() => this.#catalog.again(), 'configuration and plugins read again')
  }

  async #reread(read: () => Promise<PluginCatalog>, cause: string): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed !== undefined) return
      const begun = Date.now()
      try {
        this.#seen = await read()
        this.#printOutput(this.#seen)
        const config = this.#resolve(this.#seen)
        this.#seenConfig = config
        if (this.#mustWait(this.#seen, config)) this.#readAgainSoon()
        else await this.#adopt(this.#seen, config, cause)
      } catch (error) {
        if (this.#closed === undefined) this.log.error(`change refused: ${errorMessage(error)}`, { error })
      }
      this.#announceReading()
      // Requests that arrived in the meantime run before the watcher is updated.
      await setImmediate()
      const late = await this.#updateWatcher(begun)
      if (late.length > 0) void this.#changed(late)
    })
  }

  /** Resolves the configuration of a catalog, unless it is that of the last one. */
  #resolve(catalog: PluginCatalog): ResolvedConfig {
    return isSameConfiguration(catalog, this.#catalog) ? this.#read : configOf(catalog)
  }

  /** True if the configuration files may be half-written, so that they must be read again before they are applied. */
  #mustWait({ sources }: PluginCatalog, { resolved, generalProblems }: ResolvedConfig): boolean {
    if (generalProblems.some(isError)) {
      // The change is refused as a whole.
      this.#unfinished.reset()
      return false
    }
    const before = { sources: this.#catalog.sources, resolved: this.#read.resolved }
    return this.#unfinished.mustWait(before, { sources, resolved })
  }

  #readAgainSoon(): void {
    clearTimeout(this.#rereading)
    this.#rereading = setTimeout(() => void this.reconfigure(), REREAD_MS)
  }

  /** Closes the project. Further calls return the same promise. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    clearTimeout(this.#rereading)
    await this.#watcher?.close()
    await this.#pageWatch?.close()
    await this.kernel.close()
    await this.#turn
    await this.#catalog.close()
    // Released last, since disposers may still cause uncaught errors.
    this.#release()
  }

  #inTurn<A>(work: () => Promise<A>): Promise<A> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Returns configuration and selection of plugins for the kernel. */
  #wanted(): { readonly configuration: Configure; readonly chosen: (name: string) => boolean } {
    return {
      configuration: this.#choices.configure(this.#config, this.#catalog),
      chosen: this.#choices.selection(this.#config, this.#catalog)
    }
  }

  /** Applies a catalog. Plugins whose settings or package were rejected continue unchanged, and stay stale. */
  async #adopt(catalog: PluginCatalog, read: ResolvedConfig, cause: string): Promise<ChangeReport> {
    const begun = performance.now()
    const stale = [...this.#stale]
    this.#findings.update(catalog, read)
    const fatal = read.generalProblems.filter(isError)
    if (fatal.length > 0) {
      const error = problemsError(fatal)
      this.#generations.refused(cause, performance.now() - begun, error)
      throw error
    }
    const refused = this.#refusedBy(read)
    const config = holdSettings(read, this.#config, new Set(refused.keys()))
    const diff = diffConfig(this.#config, config)
    const [before, beforeConfig, beforeRead] = [this.#catalog, this.#config, this.#read]
    this.#catalog = catalog
    this.#config = config
    this.#read = read
    // A later change of `enabled` in a file takes precedence over `svc plugins enable` and `disable`.
    const switched = [...diff.plugins].filter(([, { enabled }]) => enabled).map(([name]) => name)
    const undo = this.#choices.defer(switched, config)
    let report: ChangeReport
    try {
      const live = [...diff.plugins].filter(([, { settings }]) => settings.live.length > 0).map(([name]) => name)
      const ready = stale.filter(name => !refused.has(name) && !catalog.found.kept.has(name))
      report = await this.kernel.change({
        sources: catalog.found.sources,
        ...this.#wanted(),
        stale: ready,
        live,
        cause
      })
    } catch (error) {
      undo()
      this.#catalog = before
      this.#config = beforeConfig
      this.#read = beforeRead
      throw error
    }
    this.#rememberGuards()
    this.#applyOwn(diff, config)
    this.#announce(diff, config)
    for (const [name, error] of refused) {
      this.log.forPlugin(name).error(`invalid settings, the previous ones stay in force: ${error.message}`, { error })
      const isNew = this.kernel.records.get(name)?.refusal !== error.message
      if (isNew) this.#generations.refused(cause, performance.now() - begun, error)
    }
    const kept = [...catalog.found.kept].filter(([name]) => this.kernel.current.units.has(name))
    for (const [name, error] of [...kept, ...refused]) {
      const record = this.kernel.records.get(name)
      if (record !== undefined) Object.assign(record, { error, refusal: error.message })
    }
    for (const name of stale) if (!refused.has(name) && !catalog.found.kept.has(name)) this.#stale.delete(name)
    return report
  }

  /** Plans a configuration without applying it. */
  async #plan(wanted: PluginCatalog, wantedConfig: ResolvedConfig): Promise<ChangeReport> {
    const off = wanted.found.sources.filter(source => isLeftOff(source) && wanted.peek.enabled(source.name) !== false)
    const catalog = off.length === 0 ? wanted : await wanted.include(off.map(({ name }) => name))
    const read = off.length === 0 ? wantedConfig : configOf(catalog)
    const config = holdSettings(read, this.#config, new Set(this.#refusedBy(read).keys()))
    const diff = diffConfig(this.#config, config)
    const switched = [...diff.plugins].filter(([, { enabled }]) => enabled).map(([name]) => name)
    const undo = this.#choices.defer(switched, config)
    try {
      const report = await this.kernel.change({
        ...(off.length === 0 ? {} : { sources: catalog.found.sources }),
        configuration: this.#choices.configure(config, catalog),
        chosen: this.#choices.selection(config, catalog),
        dryRun: true
      })
      return { ...report, steps: [...report.steps, ...settingSteps(diff, config)] }
    } finally {
      undo()
    }
  }

  /** Applies files that were just written, without the checks for unfinished saves. */
  async #adoptWritten(cause: string): Promise<ChangeReport> {
    clearTimeout(this.#rereading)
    this.#unfinished.reset()
    await this.#readFiles()
    const report = await this.#adopt(this.#seen, this.#seenConfig, cause)
    await this.#updateWatcher()
    this.#announceReading()
    return report
  }

  async #readFiles(): Promise<void> {
    this.#seen = await this.#catalog.again()
    this.#printOutput(this.#seen)
    this.#seenConfig = this.#resolve(this.#seen)
    this.#findings.update(this.#seen, this.#seenConfig)
  }

  /** Announces that lists of settings and plugins may differ, also after a refused change. */
  #announceReading(): void {
    this.kernel.topics.changed('kernel.config')
    this.kernel.topics.changed('kernel.plugins')
  }

  /**
   * Returns running plugins with invalid settings. They keep their previous settings and do not block other plugins.
   */
  #refusedBy(config: ResolvedConfig): ReadonlyMap<string, SvcError> {
    const refused = new Map<string, SvcError>()
    for (const [name, { problems, enabled }] of config.plugins) {
      const wrong = problems.filter(isError)
      if (wrong.length === 0 || enabled === false || !this.kernel.current.units.has(name)) continue
      refused.set(name, problemsError(wrong))
    }
    return refused
  }

  #announce(diff: ConfigDiff, config: ResolvedConfig): void {
    const keys = changedSettings(diff, config).map(({ key }) => key)
    if (diff.plugins.size === 0 && keys.length === 0) return
    this.kernel.topics.changed('kernel.config')
    this.kernel.announce(configurationApplied, { plugins: [...diff.plugins.keys()], keys })
  }

  /** Applies settings of the kernel itself, and logs those that need a restart. */
  #applyOwn({ kernel, plugins }: ConfigDiff, config: ResolvedConfig): void {
    if (kernel.live.includes('log_level')) this.log.setLevel(config.kernel.log_level)
    const late = [...kernel.restart, ...[...plugins.values()].flatMap(({ settings }) => settings.restart)]
    if (late.length > 0) this.log.warn(`${late.join(', ')}: changed; restart svc to apply`)
  }

  /** Enables, disables, reloads and activates plugins by name. */
  #apply(
    { enable = [], disable = [], reload = [], activate = [], persist }: KernelChange,
    dryRun: boolean
  ): Promise<ChangeReport> {
    return this.#inTurn(async () => {
      if (!dryRun) this.#catalog.marker.clear(enable)
      const included = await this.#include([...enable, ...activate])
      const wanted = (await this.#readBroken([...enable, ...reload])) || included
      this.#assertReadable(reload)
      const undo = [
        this.#choices.switch(enable, true),
        this.#choices.switch(disable, false),
        this.#choices.need(activate)
      ]
      try {
        const switches = [...enable.map(name => [name, true] as const), ...disable.map(name => [name, false] as const)]
        const written = persist === true ? switches.map(([name, on]) => this.#persist(name, on, dryRun, undo)) : []
        const report = await this.kernel.change({
          ...(wanted ? { sources: this.#catalog.found.sources } : {}),
          ...this.#wanted(),
          stale: reload,
          forced: reload,
          clearFailures: enable,
          mustSucceed: [...enable, ...reload, ...activate],
          cause: causeOf({ enable, disable, reload, activate }),
          dryRun
        })
        if (dryRun) for (const each of undo.reverse()) each()
        else for (const name of reload) this.#stale.delete(name)
        return { ...report, written }
      } catch (error) {
        for (const each of undo.reverse()) each()
        throw error
      } finally {
        // The files of a disabled plugin were not watched.
        if (wanted) await this.#updateWatcher()
      }
    })
  }

  /** Writes `enabled` of a plugin to a configuration file. Returns a line that says where; adds to `undo`. */
  #persist(name: string, enabled: boolean, dryRun: boolean, undo: (() => void)[]): string {
    const path = ['plugins', name, 'enabled'] as const
    const { file, why } = switchFile(this.#catalog.sources, path, enabled)
    if (!dryRun) {
      undo.push(rememberFile(file), this.#keepText(file, path.join('.')))
      writeSwitch(file, path, enabled)
    }
    const near = (text: string): string => text.replaceAll(dirname(this.#catalog.sources.projectFile) + sep, '')
    const reason = why === null ? '' : `, since ${near(why)}`
    return `${path.join('.')} = ${enabled} ${dryRun ? 'would be' : 'was'} written to ${near(file)}${reason}`
  }

  /** Keeps the text of the project file for `svc config rollback`. Returns the function that drops it again. */
  #keepText(file: string, key: string): () => void {
    const { sources, state } = this.#catalog
    if (file !== sources.projectFile || !existsSync(file)) return () => {}
    try {
      const history = new ConfigHistory(state)
      const id = history.add(readFileSync(file, 'utf8'), [key])
      return () => history.remove(id)
    } catch {
      // A state folder that cannot be written must not prevent the switch.
      return () => {}
    }
  }

  /** Reads the manifests of disabled plugins. Returns true if there were any. */
  async #include(names: readonly string[]): Promise<boolean> {
    const isOff = (source: PluginSource): boolean => names.includes(source.name) && isLeftOff(source)
    if (!this.#catalog.found.sources.some(isOff)) return false
    this.#takeManifests(await this.#catalog.include(names))
    return true
  }

  /** Reads plugins again that could not be read before. Returns true if there were any. */
  async #readBroken(names: readonly string[]): Promise<boolean> {
    const { sources, kept } = this.#catalog.found
    const broken = sources.filter(({ name, problem }) => names.includes(name) && (problem !== null || kept.has(name)))
    if (broken.length === 0) return false
    this.#takeManifests(await this.#catalog.retry(broken.map(({ location }) => location)))
    this.#findings.update(this.#catalog, this.#read)
    this.#announceReading()
    return true
  }

  /** Adopts a catalog whose manifests may differ, but not its configuration files. */
  #takeManifests(catalog: PluginCatalog): void {
    this.#catalog = catalog
    this.#seen = catalog
    this.#read = configOf(catalog)
    this.#seenConfig = this.#read
    this.#config = holdSettings(this.#read, this.#config, new Set(this.#refusedBy(this.#read).keys()))
  }

  /** Throws the error of a plugin that cannot be read. */
  #assertReadable(names: readonly string[]): void {
    const { sources, kept } = this.#catalog.found
    for (const { name, problem } of sources) {
      const error = problem ?? kept.get(name)
      if (names.includes(name) && error !== undefined) throw error
    }
  }

  async #watch(): Promise<void> {
    const [{ Watcher }, { PageWatch }] = await Promise.all([import('../loader/watch.ts'), import('./page-watch.ts')])
    this.#pageWatch = new PageWatch({
      pages: this.#catalog.pages,
      onChange: () => this.kernel.topics.changed(pagesTopic),
      onError: error => this.log.error('watching the files of pages failed', { error })
    })
    this.#watcher = new Watcher({
      onChange: paths => this.#changed(paths),
      onError: error => this.log.error('watching files failed', { error })
    })
    await this.#updateWatcher()
  }

  /** Reports a page that failed, or no longer fails, and watches its files. */
  #pageLoaded(begun: number): void {
    if (this.#closed !== undefined) return
    this.#findings.update(this.#seen, this.#seenConfig)
    this.#pageWatch?.update(begun).catch(error => this.log.error('watching the files of pages failed', { error }))
  }

  /**
   * Updates the watched files. Returns newly watched files that changed since `begun`, before which they were
   * unwatched.
   */
  async #updateWatcher(begun = Infinity): Promise<readonly string[]> {
    const { found, sources } = this.#seen
    const before = this.#watched
    // Most saves do not change the set of watched files.
    if (this.#watcher === undefined || (before?.found === found.files && before.sources === sources)) return []
    const files = [...found.files, ...sources.files]
    await this.#watcher.update({ files, directories: found.directories })
    // Stored after the update, so that a failed one is repeated.
    this.#watched = { found: found.files, sources }
    const known = new Set([...(before?.found ?? []), ...(before?.sources.files ?? [])])
    return files.filter(file => !known.has(file) && changedAt(file) >= begun - CLOCK_TICK_MS)
  }

  async #changed(files: readonly string[]): Promise<void> {
    const changed = new Set(files)
    const stale = [...this.kernel.records.values()].filter(({ code, source }) =>
      code === null
        ? files.some(file => file.startsWith(source.location + sep))
        : code.inputs.some(file => changed.has(file))
    )
    for (const { name } of stale) this.#stale.add(name)
    // Most saves change only code. Then only the affected plugins are read again.
    const isCode = (file: string): boolean =>
      basename(file) !== 'package.json' && stale.some(({ code }) => code?.inputs.includes(file) === true)
    await this.#reread(
      () => {
        // If the last configuration was not applied, it is read again.
        const upToDate = this.#seen.sources === this.#catalog.sources
        return upToDate && files.every(isCode) ? this.#catalog.rereadPlugins(changed) : this.#catalog.again()
      },
      changeOf(files, this.#catalog.projectRoot)
    )
  }

  #printOutput({ found }: PluginCatalog): void {
    for (const { plugin, line } of found.output) this.log.forPlugin(plugin).debug(line)
  }

  /** Reports findings. A single command reports only those of its plugins. */
  #reportFindings(): void {
    const { tolerant, activate } = this.#options
    if (activate === undefined) this.#findings.update(this.#catalog, this.#config)
    if (tolerant === true || activate === undefined) return
    const isChosen = this.#choices.selection(this.#config, this.#catalog)
    const ofPlugins = [...this.#config.plugins.values()].flatMap(({ name, problems }) =>
      isChosen(name) ? problems.filter(problem => !isError(problem)) : []
    )
    this.#report([...this.#config.generalProblems, ...ofPlugins])
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

  #editorHost(): EditorHost {
    return {
      catalog: () => this.#catalog,
      serves: this.#options.serves ?? true,
      configOf,
      inTurn: work => this.#inTurn(work),
      plan: (catalog, config) => this.#plan(catalog, config),
      adopt: cause => this.#adoptWritten(cause),
      reread: () => this.#readFiles(),
      failing: () => {
        const failing = [...this.kernel.records.values()].filter(({ state }) => NOT_RUNNING.has(state))
        return new Map(failing.map(({ name, state, why }) => [name, `${name} is ${state}: ${why ?? 'no reason'}`]))
      },
      selectedBy: config => this.#choices.selectedBy(config),
      mask: text => this.kernel.mask(text)
    }
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
      get read() {
        return project.#seenConfig
      },
      serves: this.#options.serves ?? true,
      apply: (change, dryRun) => this.#apply(change, dryRun),
      readAgain: async () => {
        const catalog = await this.#catalog.again()
        return problemsOf(catalog)
      },
      findings: () => findingsIn(this.#seen, this.#seenConfig),
      catalog: () => this.#seen,
      generations: () => this.#generations.list(),
      editor: new FileEditor(this.#editorHost()),
      activate: names => this.#apply({ activate: names }, false),
      build: directory => build(directory),
      configSchema: () => configSchema(this.#catalog.manifests),
      stop: reason => {
        this.log.info(`stop requested: ${reason}`)
        this.#end()
      },
      ownerOf: ownerOfFile,
      isBundled: name => this.#catalog.found.installed.has(name)
    }
  }
}

const NOT_RUNNING: ReadonlySet<PluginState> = new Set(['failed', 'invalid', 'quarantined', 'waiting', 'stuck'])

/** Lines for settings that change without a new generation. */
function settingSteps(diff: ConfigDiff, config: ResolvedConfig): string[] {
  return changedSettings(diff, config).flatMap(({ key, reload }) =>
    reload === 'plugin'
      ? []
      : [reload === 'live' ? `change ${key}: at once` : `change ${key}: at the next start of svc`]
  )
}

/** Describes changed files for the list of generations. */
function changeOf(files: readonly string[], root: string): string {
  const names = files.map(file => (file.startsWith(root + sep) ? relative(root, file) : file)).sort()
  const rest = names.length > MAX_NAMED_FILES ? ` and ${names.length - MAX_NAMED_FILES} more files` : ''
  return `${names.slice(0, MAX_NAMED_FILES).join(', ')}${rest} changed`
}

function causeOf(change: Readonly<Record<'enable' | 'disable' | 'reload' | 'activate', readonly string[]>>): string {
  const { activate, ...commands } = change
  const requested = Object.entries(commands).flatMap(([command, names]) =>
    names.length === 0 ? [] : [`svc plugins ${command} ${names.join(' ')}`]
  )
  return [...requested, ...(activate.length === 0 ? [] : [`start of ${activate.join(', ')} on demand`])].join('; ')
}

/** Resolves the configuration of a catalog. A broken plugin is still installed, so its last known schema applies. */
export function configOf({ sources, manifests, lapsed }: PluginCatalog): ResolvedConfig {
  return resolveConfig(sources, [...manifests, ...lapsed])
}

/** Returns the problems of the configuration and of plugins, which may be invalid or share a name. */
function problemsOf(catalog: PluginCatalog): ConfigProblem[] {
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

/** Returns the time at which a file was last written or moved, in milliseconds since the epoch. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ctimeMs ?? -Infinity
}

function isError({ severity }: ConfigProblem): boolean {
  return severity === 'error'
}

async function build(directory: string): Promise<BuildReport> {
  const { name, version } = await buildPlugin(directory)
  const found = readPluginPackage(directory)
  const pages = Object.keys(found.pages).map(page => builtPage(found, page))
  return {
    name,
    version,
    files: [...['plugin.cjs', 'plugin.json'].map(file => join(directory, 'dist', file)), ...pages]
  }
}
