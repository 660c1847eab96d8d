import { join } from 'node:path'
import { formatProblem } from '@svc/config'
import {
  type BuildReport,
  type ConfigProblem,
  type KernelAdmin,
  kernelAdmin,
  logLines,
  type PluginState
} from '@svc/contracts'
import type { ServiceId } from '@svc/plugin-sdk'
import { Kernel } from '../../core/kernel.ts'
import type { KernelLogger } from '../../core/logger.ts'
import { ownerOfFile } from '../../guards/attribution.ts'
import { isolationHosts } from '../../isolation/unit-host.ts'
import { buildPlugin } from '../../loader/build.ts'
import { builtPage, readPluginPackage } from '../../loader/plugin-package.ts'
import { type AdminHost, createAdmin } from '../admin.ts'
import type { PluginCatalog } from '../catalog.ts'
import { type ChoiceOptions, Choices } from '../choices.ts'
import { type EditorHost, FileEditor } from '../config-editor.ts'
import { Findings, findingsIn } from '../findings.ts'
import type { ResolvedConfig } from '../plugin-config.ts'
import { makePrivate } from '../private-state.ts'
import { repositoryIdOf } from '../repository-id.ts'
import { configSchema } from '../sections.ts'
import { catchUncaught } from '../uncaught.ts'
import { version } from '../version.ts'
import { CatalogChanges } from './catalog-changes.ts'
import { FileChanges } from './file-changes.ts'
import { GenerationLog } from './generation-log.ts'
import { PluginCommands } from './plugin-commands.ts'
import { configOf, ProjectState, problemsOf } from './project-state.ts'
import { SerialQueue } from './serial-queue.ts'

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
  readonly #serves: boolean
  readonly #state: ProjectState
  readonly #choices: Choices
  readonly #findings: Findings
  readonly #generations = new GenerationLog(() => this.kernel)
  /** Changes run one after the other. */
  readonly #queue = new SerialQueue()
  readonly #catalogs: CatalogChanges
  readonly #files: FileChanges
  readonly #commands: PluginCommands
  #release: () => void = () => {}
  #end: (error?: Error) => void = () => {}
  #closed: Promise<void> | undefined

  constructor(options: ProjectOptions, config: ResolvedConfig, log: KernelLogger) {
    this.#options = options
    this.#serves = options.serves ?? true
    this.#state = new ProjectState({ catalog: options.catalog, config })
    this.#choices = new Choices(options)
    this.log = log
    this.#findings = new Findings(log)
    this.ended = new Promise((resolve, reject) => {
      this.#end = error => (error === undefined ? resolve() : reject(error))
    })
    this.ended.catch(() => {})
    this.admin = createAdmin(this.#adminHost())
    this.kernel = this.#createKernel(config)
    const parts = {
      kernel: this.kernel,
      log,
      state: this.#state,
      choices: this.#choices,
      findings: this.#findings,
      generations: this.#generations,
      queue: this.#queue,
      serves: this.#serves
    }
    this.#catalogs = new CatalogChanges(parts)
    this.#files = new FileChanges({ ...parts, catalogs: this.#catalogs })
    this.#commands = new PluginCommands({
      ...parts,
      onReread: () => {
        const { catalog, read } = this.#state.inForce
        this.#findings.update(catalog, read)
        this.#files.announce()
      },
      watch: () => this.#files.updateWatch()
    })
  }

  /** Catalog in force. */
  get catalog(): PluginCatalog {
    return this.#state.inForce.catalog
  }

  #createKernel(config: ResolvedConfig): Kernel {
    const { log } = this
    const { projectRoot, state, marker } = this.catalog
    return new Kernel({
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
        if (state !== 'loading' && state !== 'activating') marker.end(plugin)
      },
      onChange: (cause, ms, outcome) => {
        if ('report' in outcome) this.#generations.served(cause, ms, outcome.report)
        else this.#generations.refused(cause, ms, outcome.error)
      },
      onFatal: error => this.#end(error instanceof Error ? error : new Error(String(error)))
    })
  }

  start(): Promise<void> {
    return this.#queue.run(async () => {
      const { catalog, config } = this.#state.inForce
      if (this.#serves) {
        catalog.marker.arm()
        this.#makeStatePrivate()
      }
      for (const { plugin, line } of catalog.found.output) this.log.forPlugin(plugin).debug(line)
      this.#reportFindings()
      catalog.pages.follow(begun => this.#pageLoaded(begun))
      if (this.#options.ownsProcess === true) this.#release = catchUncaught(this.kernel, error => this.#end(error))
      // Watching starts before activation, so that no save is missed. A change during activation waits for its turn.
      if (this.#options.watch ?? config.kernel.watch) await this.#files.watch()
      await this.#catalogs.start()
    })
  }

  #makeStatePrivate(): void {
    const { catalog, config } = this.#state.inForce
    const entries = config.kernel.private_state ? makePrivate(catalog.state) : 0
    if (entries > 0)
      this.log.info(`other users can no longer read ${catalog.state}`, { entries, setting: 'kernel.private_state' })
  }

  /** Reads configuration and plugins again and applies changes. Invalid changes are reported and have no effect. */
  reconfigure(): Promise<void> {
    return this.#files.reconfigure()
  }

  /** Closes the project. Further calls return the same promise. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#files.close()
    await this.kernel.close()
    await this.#queue.idle()
    await this.catalog.close()
    // Released last, since disposers may still cause uncaught errors.
    this.#release()
  }

  /** Reports a page that failed, or no longer fails, and watches its files. */
  #pageLoaded(begun: number): void {
    if (this.#closed !== undefined) return
    const { catalog, config } = this.#state.seen
    this.#findings.update(catalog, config)
    this.#files.pageLoaded(begun)
  }

  /** Reports findings. A single command reports only those of its plugins. */
  #reportFindings(): void {
    const { tolerant, activate } = this.#options
    const { catalog, config } = this.#state.inForce
    if (activate === undefined) this.#findings.update(catalog, config)
    if (tolerant === true || activate === undefined) return
    const isChosen = this.#choices.selection(config, catalog)
    const ofPlugins = [...config.plugins.values()].flatMap(({ name, problems }) =>
      isChosen(name) ? problems.filter(({ severity }) => severity !== 'error') : []
    )
    this.#report([...config.generalProblems, ...ofPlugins])
    for (const { error } of catalog.found.problems) {
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
      catalog: () => this.catalog,
      serves: this.#serves,
      configOf,
      inTurn: work => this.#queue.run(work),
      plan: (catalog, config) => this.#catalogs.plan({ catalog, config }),
      adopt: cause => this.#files.adoptWritten(cause),
      reread: () => this.#files.readAgain(),
      failing: () => {
        const failing = [...this.kernel.records.values()].filter(({ state }) => NOT_RUNNING.has(state))
        return new Map(failing.map(({ name, state, why }) => [name, `${name} is ${state}: ${why ?? 'no reason'}`]))
      },
      selectedBy: config => this.#choices.selectedBy(config),
      mask: text => this.kernel.mask(text)
    }
  }

  #adminHost(): AdminHost {
    return {
      kernel: () => this.kernel,
      config: () => this.#state.inForce.config,
      read: () => this.#state.seen.config,
      serves: this.#serves,
      isServer: this.#options.ownsProcess === true,
      apply: (change, dryRun) => this.#commands.apply(change, dryRun),
      readAgain: async () => problemsOf(await this.catalog.again()),
      findings: () => findingsIn(this.#state.seen.catalog, this.#state.seen.config),
      catalog: () => this.#state.seen.catalog,
      generations: () => this.#generations.list(),
      editor: new FileEditor(this.#editorHost()),
      activate: names => this.#commands.apply({ activate: names }, false),
      build,
      configSchema: () => configSchema(this.catalog.manifests),
      stop: reason => {
        this.log.info(`stop requested: ${reason}`)
        this.#end()
      },
      ownerOf: ownerOfFile,
      isBundled: name => this.catalog.found.installed.has(name)
    }
  }
}

const NOT_RUNNING: ReadonlySet<PluginState> = new Set(['failed', 'invalid', 'quarantined', 'waiting', 'stuck'])

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
