import { existsSync, readFileSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { rememberFile, switchFile, writeSwitch } from '@svc/config'
import type { ChangeReport, KernelChange } from '@svc/contracts'
import type { Kernel } from '../../core/kernel.ts'
import type { PluginSource } from '../../core/plugin-source.ts'
import type { PluginCatalog } from '../catalog.ts'
import type { Choices } from '../choices.ts'
import { ConfigHistory } from '../config-history.ts'
import { isLeftOff } from '../discovery.ts'
import type { ProjectState } from './project-state.ts'
import type { SerialQueue } from './serial-queue.ts'

export interface PluginCommandsOptions {
  readonly kernel: Kernel
  readonly state: ProjectState
  readonly choices: Choices
  readonly queue: SerialQueue
  /** Called after broken plugins were read again. */
  onReread(): void
  /** Called after plugins were read that were not watched before. */
  watch(): Promise<unknown>
}

/** Enables, disables, reloads and activates plugins by name. */
export class PluginCommands {
  readonly #options: PluginCommandsOptions

  constructor(options: PluginCommandsOptions) {
    this.#options = options
  }

  /** Applies the commands after all earlier changes. Throws if one fails; then all stays as it was. */
  apply(
    { enable = [], disable = [], reload = [], activate = [], persist }: KernelChange,
    dryRun: boolean
  ): Promise<ChangeReport> {
    const { kernel, state, choices, queue } = this.#options
    return queue.run(async () => {
      if (!dryRun) state.inForce.catalog.marker.clear(enable)
      const included = await this.#include([...enable, ...activate])
      const wanted = (await this.#readBroken([...enable, ...reload])) || included
      this.#assertReadable(reload)
      const undo = [choices.switch(enable, true), choices.switch(disable, false), choices.need(activate)]
      try {
        const switches = [...enable.map(name => [name, true] as const), ...disable.map(name => [name, false] as const)]
        const { catalog, config } = state.inForce
        const written =
          persist === true ? switches.map(([name, on]) => persistSwitch(catalog, name, on, dryRun, undo)) : []
        const report = await kernel.change({
          ...(wanted ? { sources: catalog.found.sources } : {}),
          ...choices.wanted(config, catalog),
          stale: reload,
          forced: reload,
          clearFailures: enable,
          mustSucceed: [...enable, ...reload, ...activate],
          cause: causeOf({ enable, disable, reload, activate }),
          dryRun
        })
        if (dryRun) for (const each of undo.reverse()) each()
        else for (const name of reload) state.stale.delete(name)
        return { ...report, written }
      } catch (error) {
        for (const each of undo.reverse()) each()
        throw error
      } finally {
        // The files of a disabled plugin were not watched.
        if (wanted) await this.#options.watch()
      }
    })
  }

  /** Reads the manifests of disabled plugins. Returns true if there were any. */
  async #include(names: readonly string[]): Promise<boolean> {
    const { catalog } = this.#options.state.inForce
    const isOff = (source: PluginSource): boolean => names.includes(source.name) && isLeftOff(source)
    if (!catalog.found.sources.some(isOff)) return false
    this.#takeManifests(await catalog.include(names))
    return true
  }

  /** Reads plugins again that could not be read before. Returns true if there were any. */
  async #readBroken(names: readonly string[]): Promise<boolean> {
    const { catalog } = this.#options.state.inForce
    const { sources, kept } = catalog.found
    const broken = sources.filter(({ name, problem }) => names.includes(name) && (problem !== null || kept.has(name)))
    if (broken.length === 0) return false
    this.#takeManifests(await catalog.retry(broken.map(({ location }) => location)))
    this.#options.onReread()
    return true
  }

  #takeManifests(catalog: PluginCatalog): void {
    const { state, kernel } = this.#options
    state.takeManifests(catalog, kernel.current.units)
  }

  /** Throws the error of a plugin that cannot be read. */
  #assertReadable(names: readonly string[]): void {
    const { sources, kept } = this.#options.state.inForce.catalog.found
    for (const { name, problem } of sources) {
      const error = problem ?? kept.get(name)
      if (names.includes(name) && error !== undefined) throw error
    }
  }
}

/** Writes `enabled` of a plugin to a configuration file. Returns a line that says where; adds to `undo`. */
function persistSwitch(
  { sources, state }: PluginCatalog,
  name: string,
  enabled: boolean,
  dryRun: boolean,
  undo: (() => void)[]
): string {
  const path = ['plugins', name, 'enabled'] as const
  const { file, why } = switchFile(sources, path, enabled)
  if (!dryRun) {
    undo.push(rememberFile(file))
    if (file === sources.projectFile) undo.push(keepText(file, path.join('.'), state))
    writeSwitch(file, path, enabled)
  }
  const near = (text: string): string => text.replaceAll(dirname(sources.projectFile) + sep, '')
  const reason = why === null ? '' : `, since ${near(why)}`
  return `${path.join('.')} = ${enabled} ${dryRun ? 'would be' : 'was'} written to ${near(file)}${reason}`
}

/** Keeps the text of the project file for `svc config rollback`. Returns the function that drops it again. */
function keepText(file: string, key: string, state: string): () => void {
  if (!existsSync(file)) return () => {}
  try {
    const history = new ConfigHistory(state)
    const id = history.add(readFileSync(file, 'utf8'), [key])
    return () => history.remove(id)
  } catch {
    // A state folder that cannot be written must not prevent the switch.
    return () => {}
  }
}

/** Describes commands for the list of generations. */
function causeOf(change: Readonly<Record<'enable' | 'disable' | 'reload' | 'activate', readonly string[]>>): string {
  const { activate, ...commands } = change
  const requested = Object.entries(commands).flatMap(([command, names]) =>
    names.length === 0 ? [] : [`svc plugins ${command} ${names.join(' ')}`]
  )
  return [...requested, ...(activate.length === 0 ? [] : [`start of ${activate.join(', ')} on demand`])].join('; ')
}
