import { resolve } from 'node:path'
import type { LoadedModel } from '@svc/contracts'
import { errors } from './errors.ts'

/** Names of adapters of one loaded model that the settings asked for; kept as long as the model is. */
export type ConfiguredNames = Set<string>

/** The adapters that the settings name. */
export class ConfiguredAdapters {
  readonly #folders: ReadonlyMap<string, string>

  constructor(adapters: Readonly<Record<string, string>>, projectRoot: string) {
    this.#folders = new Map(Object.entries(adapters).map(([name, folder]) => [name, resolve(projectRoot, folder)]))
  }

  /** Adds those that the model does not have. Throws what the engine says of the first one that it cannot add. */
  async add({ adapters }: LoadedModel, names: ConfiguredNames): Promise<void> {
    if (adapters === undefined) {
      if (this.#folders.size === 0) return
      throw errors.create('MSV_ADAPTER_UNSUPPORTED', 'the engine cannot add adapters to this model', {
        hint: 'Remove the setting plugins.model-server.adapters, or serve a model that takes them.'
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

  /** Removes those that earlier settings named and these do not. */
  async removeOthers({ adapters }: LoadedModel, names: ConfiguredNames): Promise<void> {
    for (const name of names) {
      if (this.#folders.has(name)) continue
      names.delete(name)
      if (adapters?.list().some(adapter => adapter.name === name)) await adapters.remove(name)
    }
  }
}
