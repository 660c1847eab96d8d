import { basename, relative, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type ChangeReport, pagesTopic } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { Kernel } from '../../core/kernel.ts'
import type { KernelLogger } from '../../core/logger.ts'
import type { PluginCatalog } from '../catalog.ts'
import type { Findings } from '../findings.ts'
import { REREAD_MS, UnfinishedSaves } from '../unfinished-saves.ts'
import type { CatalogChanges } from './catalog-changes.ts'
import type { ProjectState } from './project-state.ts'
import type { ProjectWatch } from './project-watch.ts'
import type { SerialQueue } from './serial-queue.ts'

/** Files that the cause of a generation names. */
const MAX_NAMED_FILES = 3

export interface FileChangesOptions {
  readonly kernel: Kernel
  readonly log: KernelLogger
  readonly state: ProjectState
  readonly findings: Findings
  readonly catalogs: CatalogChanges
  readonly queue: SerialQueue
}

/** Reads configuration files and plugins again after they changed, and applies what they say. */
export class FileChanges {
  readonly #options: FileChangesOptions
  readonly #unfinished: UnfinishedSaves
  #rereading: NodeJS.Timeout | undefined
  #watch: ProjectWatch | undefined
  #closed = false

  constructor(options: FileChangesOptions) {
    this.#options = options
    this.#unfinished = new UnfinishedSaves(options.log)
  }

  /** Begins to watch the files. */
  async watch(): Promise<void> {
    const { kernel, log, state } = this.#options
    // Loaded on demand: a single command watches nothing.
    const { ProjectWatch } = await import('./project-watch.ts')
    this.#watch = new ProjectWatch({
      pages: state.inForce.catalog.pages,
      log,
      onFiles: paths => this.#changed(paths),
      onPages: () => kernel.topics.changed(pagesTopic)
    })
    await this.updateWatch()
  }

  /**
   * Watches the files of the catalog that was read last. Returns newly watched files that changed since `begun`
   * (milliseconds since the epoch), before which they were unwatched.
   */
  async updateWatch(begun?: number): Promise<readonly string[]> {
    return (await this.#watch?.update(this.#options.state.seen.catalog, begun)) ?? []
  }

  /** Watches the files of a page that was loaded. `begun`: when loading began, in milliseconds since the epoch. */
  pageLoaded(begun: number): void {
    this.#watch?.pageLoaded(begun)
  }

  /** Reads all again and applies changes. Invalid changes are reported and have no effect. */
  reconfigure(): Promise<void> {
    return this.#reread(() => this.#options.state.inForce.catalog.again(), 'configuration and plugins read again')
  }

  /** Applies files that were just written, without the checks for unfinished saves. Must run in turn. */
  async adoptWritten(cause: string): Promise<ChangeReport> {
    const { state, catalogs } = this.#options
    clearTimeout(this.#rereading)
    this.#unfinished.reset()
    await this.readAgain()
    const report = await catalogs.adopt(state.seen, cause)
    await this.updateWatch()
    this.announce()
    return report
  }

  /** Reads the files again, without applying them. Must run in turn. */
  async readAgain(): Promise<void> {
    const { state, findings } = this.#options
    this.#see(await state.inForce.catalog.again())
    findings.update(state.seen.catalog, state.seen.config)
  }

  /** Announces that lists of settings and plugins may differ, also after a refused change. */
  announce(): void {
    const { topics } = this.#options.kernel
    topics.changed('kernel.config')
    topics.changed('kernel.plugins')
  }

  /** Ends the watch. Changes that are in progress still end. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#rereading)
    await this.#watch?.close()
  }

  async #changed(files: readonly string[]): Promise<void> {
    const { kernel, state } = this.#options
    const changed = new Set(files)
    const stale = [...kernel.records.values()].filter(({ code, source }) =>
      code === null
        ? files.some(file => file.startsWith(source.location + sep))
        : code.inputs.some(file => changed.has(file))
    )
    for (const { name } of stale) state.stale.add(name)
    // Most saves change only code. Then only the affected plugins are read again.
    const isCode = (file: string): boolean =>
      basename(file) !== 'package.json' && stale.some(({ code }) => code?.inputs.includes(file) === true)
    await this.#reread(
      () => {
        const { catalog } = state.inForce
        // If the last configuration was not applied, it is read again.
        const upToDate = state.seen.catalog.sources === catalog.sources
        return upToDate && files.every(isCode) ? catalog.rereadPlugins(changed) : catalog.again()
      },
      causeOf(files, state.inForce.catalog.projectRoot)
    )
  }

  async #reread(read: () => Promise<PluginCatalog>, cause: string): Promise<void> {
    const { log, state, catalogs, queue } = this.#options
    await queue.run(async () => {
      if (this.#closed) return
      const begun = Date.now()
      try {
        this.#see(await read())
        if (this.#mustWait()) this.#readAgainSoon()
        else await catalogs.adopt(state.seen, cause)
      } catch (error) {
        if (!this.#closed) log.error(`change refused: ${errorMessage(error)}`, { error })
      }
      this.announce()
      // Requests that arrived in the meantime run before the watch is updated.
      await setImmediate()
      const late = await this.updateWatch(begun)
      if (late.length > 0) void this.#changed(late)
    })
  }

  #see(catalog: PluginCatalog): void {
    const { state, log } = this.#options
    state.see(catalog)
    for (const { plugin, line } of catalog.found.output) log.forPlugin(plugin).debug(line)
  }

  /** True if the configuration files may be half-written, so that they must be read again before they are applied. */
  #mustWait(): boolean {
    const { inForce, seen } = this.#options.state
    if (seen.config.generalProblems.some(({ severity }) => severity === 'error')) {
      // The change is refused as a whole.
      this.#unfinished.reset()
      return false
    }
    return this.#unfinished.mustWait(
      { sources: inForce.catalog.sources, resolved: inForce.read.resolved },
      { sources: seen.catalog.sources, resolved: seen.config.resolved }
    )
  }

  #readAgainSoon(): void {
    clearTimeout(this.#rereading)
    this.#rereading = setTimeout(() => void this.reconfigure(), REREAD_MS)
  }
}

/** Describes changed files for the list of generations. */
function causeOf(files: readonly string[], root: string): string {
  const names = files.map(file => (file.startsWith(root + sep) ? relative(root, file) : file)).sort()
  const rest = names.length > MAX_NAMED_FILES ? ` and ${names.length - MAX_NAMED_FILES} more files` : ''
  return `${names.slice(0, MAX_NAMED_FILES).join(', ')}${rest} changed`
}
