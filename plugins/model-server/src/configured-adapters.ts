import { resolve } from 'node:path'
import type { LoadedModel } from '@svc/contracts'
import { errors } from './errors.ts'

/** Names of the adapters of a loaded model that come from the settings; lives as long as the loaded model. */
export type ConfiguredNames = Set<string>

/** Adapters that the settings name. */
export class ConfiguredAdapters {
  readonly #folders: ReadonlyMap<string, string>

  constructor(adapters: Readonly<Record<string, string>>, projectRoot: string) {
    this.#folders = new Map(Object.entries(adapters).map(([name, folder]) => [name, resolve(projectRoot, folder)]))
  }

  /** Adds the adapters that the model does not have yet. Throws the engine's error for the first that fails. */
  async add({ adapters }: LoadedModel, names: ConfiguredNames): Promise<void> {
    if (adapters === undefined) {
      if (this.#folders.size === 0) return
      throw errors.create('MSV_ADAPTER_UNSUPPORTED', 'the engine cannot add adapters to this model', {
        hint: 'Remove the setting plugins.model-server.adapters, or serve a model that supports adapters.'
      })
    }
    for (const [name, directory] of this.#folders) {
      const present = adapters.list().find(adapter => adapter.name === name)
      if (present?.directory !== directory) {
        if (present !== undefined) await adapters.remove(name)
        await adapters.add({ name, directory })
      }
      names.add(name)
    }
  }

  /** Removes adapters that earlier settings added and these settings no longer name. */
  async removeOthers({ adapters }: LoadedModel, names: ConfiguredNames): Promise<void> {
    for (const name of names) {
      if (this.#folders.has(name)) continue
      names.delete(name)
      if (adapters?.list().some(adapter => adapter.name === name)) await adapters.remove(name)
    }
  }
}
