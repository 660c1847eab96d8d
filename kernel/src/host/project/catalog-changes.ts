import { problemsError } from '@svc/config'
import { type ChangeReport, configurationApplied } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import type { Kernel } from '../../core/kernel.ts'
import type { KernelLogger } from '../../core/logger.ts'
import type { Choices } from '../choices.ts'
import { type ConfigDiff, changedSettings, diffConfig } from '../config-diff.ts'
import { isLeftOff } from '../discovery.ts'
import type { Findings } from '../findings.ts'
import { holdSettings, refusedSettings } from '../held-settings.ts'
import { KnownGuards } from '../known-guards.ts'
import type { ResolvedConfig } from '../plugin-config.ts'
import type { GenerationLog } from './generation-log.ts'
import { configOf, type InForce, type ProjectState, type Reading } from './project-state.ts'

export interface CatalogChangesOptions {
  readonly kernel: Kernel
  readonly log: KernelLogger
  readonly state: ProjectState
  readonly choices: Choices
  readonly findings: Findings
  readonly generations: GenerationLog
  /** True for a server, false for a single command. */
  readonly serves: boolean
}

/** Applies catalogs with their configuration, or plans what applying them would change. */
export class CatalogChanges {
  readonly #options: CatalogChangesOptions

  constructor(options: CatalogChangesOptions) {
    this.#options = options
  }

  /** Starts the plugins of the first catalog. */
  async start(): Promise<void> {
    const { kernel, state, choices } = this.#options
    const { catalog, config } = state.inForce
    await kernel.change({
      sources: catalog.found.sources,
      ...choices.wanted(config, catalog),
      cause: 'start of svc'
    })
    this.#rememberGuards()
  }

  /**
   * Applies what was read. Plugins whose settings or package were rejected continue unchanged, and stay stale. Throws if
   * the change is refused; then all stays as it was.
   */
  async adopt({ catalog, config: read }: Reading, cause: string): Promise<ChangeReport> {
    const { kernel, state, findings, generations } = this.#options
    const begun = performance.now()
    const stale = [...state.stale]
    findings.update(catalog, read)
    const fatal = read.generalProblems.filter(({ severity }) => severity === 'error')
    if (fatal.length > 0) {
      const error = problemsError(fatal)
      generations.refused(cause, performance.now() - begun, error)
      throw error
    }
    const refused = refusedSettings(read, kernel.current.units)
    const config = holdSettings(read, state.inForce.config, new Set(refused.keys()))
    const diff = diffConfig(state.inForce.config, config)
    const ready = stale.filter(name => !refused.has(name) && !catalog.found.kept.has(name))
    const report = await this.#change({ catalog, config, read }, diff, ready, cause)
    this.#rememberGuards()
    this.#applyOwn(diff, config)
    this.#announce(diff, config)
    this.#report(refused, cause, begun)
    const kept = [...catalog.found.kept].filter(([name]) => kernel.current.units.has(name))
    for (const [name, error] of [...kept, ...refused]) {
      const record = kernel.records.get(name)
      if (record !== undefined) Object.assign(record, { error, refusal: error.message })
    }
    for (const name of ready) state.stale.delete(name)
    return report
  }

  /** Plans a configuration without applying it. */
  async plan({ catalog: wanted, config: wantedConfig }: Reading): Promise<ChangeReport> {
    const { kernel, state, choices } = this.#options
    const off = wanted.found.sources.filter(source => isLeftOff(source) && wanted.peek.enabled(source.name) !== false)
    const catalog = off.length === 0 ? wanted : await wanted.include(off.map(({ name }) => name))
    const read = off.length === 0 ? wantedConfig : configOf(catalog)
    const refused = refusedSettings(read, kernel.current.units)
    const config = holdSettings(read, state.inForce.config, new Set(refused.keys()))
    const diff = diffConfig(state.inForce.config, config)
    const undo = choices.defer(switchedIn(diff), config)
    try {
      const report = await kernel.change({
        ...(off.length === 0 ? {} : { sources: catalog.found.sources }),
        ...choices.wanted(config, catalog),
        dryRun: true
      })
      return { ...report, steps: [...report.steps, ...settingSteps(diff, config)] }
    } finally {
      undo()
    }
  }

  /** Puts a catalog in force and changes the plugins. Restores the earlier one if the change fails. */
  async #change(next: InForce, diff: ConfigDiff, stale: readonly string[], cause: string): Promise<ChangeReport> {
    const { kernel, state, choices } = this.#options
    const { catalog, config } = next
    const before = state.inForce
    state.inForce = next
    // A later change of `enabled` in a file takes precedence over `svc plugins enable` and `disable`.
    const undo = choices.defer(switchedIn(diff), config)
    try {
      return await kernel.change({
        sources: catalog.found.sources,
        ...choices.wanted(config, catalog),
        stale,
        live: [...diff.plugins].filter(([, { settings }]) => settings.live.length > 0).map(([name]) => name),
        cause
      })
    } catch (error) {
      undo()
      state.inForce = before
      throw error
    }
  }

  #rememberGuards(): void {
    const { serves, state } = this.#options
    const { catalog, read } = state.inForce
    if (serves) new KnownGuards(catalog.state).remember(read.resolved)
  }

  /** Applies settings of the kernel itself, and logs those that need a restart. */
  #applyOwn({ kernel, plugins }: ConfigDiff, config: ResolvedConfig): void {
    const { log } = this.#options
    if (kernel.live.includes('log_level')) log.setLevel(config.kernel.log_level)
    const late = [...kernel.restart, ...[...plugins.values()].flatMap(({ settings }) => settings.restart)]
    if (late.length > 0) log.warn(`${late.join(', ')}: changed; restart svc to apply`)
  }

  #announce(diff: ConfigDiff, config: ResolvedConfig): void {
    const { kernel } = this.#options
    const keys = changedSettings(diff, config).map(({ key }) => key)
    if (diff.plugins.size === 0 && keys.length === 0) return
    kernel.topics.changed('kernel.config')
    kernel.announce(configurationApplied, { plugins: [...diff.plugins.keys()], keys })
  }

  /** Reports plugins whose settings were rejected. `begun`: start of the change, on the clock of `performance.now()`. */
  #report(refused: ReadonlyMap<string, SvcError>, cause: string, begun: number): void {
    const { kernel, log, generations } = this.#options
    for (const [name, error] of refused) {
      log.forPlugin(name).error(`invalid settings, the previous ones stay in force: ${error.message}`, { error })
      const isNew = kernel.records.get(name)?.refusal !== error.message
      if (isNew) generations.refused(cause, performance.now() - begun, error)
    }
  }
}

/** Returns the plugins whose setting `enabled` changed. */
function switchedIn({ plugins }: ConfigDiff): string[] {
  return [...plugins].filter(([, { enabled }]) => enabled).map(([name]) => name)
}

/** Lines for settings that change without a new generation. */
function settingSteps(diff: ConfigDiff, config: ResolvedConfig): string[] {
  return changedSettings(diff, config).flatMap(({ key, reload }) =>
    reload === 'plugin'
      ? []
      : [reload === 'live' ? `change ${key}: at once` : `change ${key}: at the next start of svc`]
  )
}
