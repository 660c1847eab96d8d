import { defined } from '@svc/plugin-sdk'
import { mergedDefaults, type WrittenDefaults } from '../defaults/written-defaults.ts'
import { errors } from '../errors.ts'
import type { PullEvent } from '../pull/progress.ts'
import type { Pulled, Puller, PullRequest } from '../pull/puller.ts'
import { parseSource } from '../pull/source.ts'
import type { UnfinishedPull } from '../pull/unfinished.ts'
import type { ServedModels } from '../served-models.ts'
import { shownName } from '../shown-name.ts'
import type { ModelStore } from '../wire-services.ts'
import { type Catalogue, type CatalogueEntry, configured, exists } from './catalogue.ts'
import { plainName } from './model-name.ts'

/** Model that was removed. */
export interface RemovedModel {
  readonly name: string
  readonly path: string
  /** True if its files were deleted. */
  readonly deleted: boolean
}

/** Adds, copies and removes models of this server, and unloads those whose files change. */
export class LocalStore implements ModelStore {
  readonly #models: ServedModels
  readonly #catalogue: Catalogue
  readonly #puller: Puller
  readonly #otherPaths: readonly string[]

  /** `otherPaths`: absolute paths of models that the server uses for anything else than generating text. */
  constructor(models: ServedModels, catalogue: Catalogue, puller: Puller, otherPaths: readonly string[] = []) {
    this.#models = models
    this.#catalogue = catalogue
    this.#puller = puller
    this.#otherPaths = otherPaths
  }

  /** Pulls a model that a client of the server names: no URL and no path, which could reach what the client cannot. */
  async pull(name: string, signal: AbortSignal, onEvent: (event: PullEvent) => void): Promise<Pulled> {
    const { kind } = parseSource(name).source
    if (kind === 'url' || kind === 'file') {
      throw errors.create('MSV_PULL_NAME', `cannot pull ${shownName(name)} through this API: it is a ${kind}`, {
        data: { param: 'model' },
        hint: 'Use svc model pull.'
      })
    }
    return this.pullAny({ from: name, signal, onEvent })
  }

  /** Pulls a model from any source; see `Puller.pull`. */
  async pullAny(request: PullRequest): Promise<Pulled> {
    this.#refusePrimary(plainName(parseSource(request.from, request.as).name))
    const pulled = await this.#puller.pull(request)
    // Unloads the earlier version after its running requests.
    await this.#models.slots()
    return pulled
  }

  /** Returns the downloads that are not complete. */
  unfinished(): Promise<readonly UnfinishedPull[]> {
    return this.#puller.unfinished()
  }

  async copy(name: string, to: string): Promise<void> {
    const { path, defaults } = await this.#source(name, to)
    await this.#catalogue.add({ name: to, path, source: 'copied', ...defined({ defaults }) })
  }

  async create(name: string, from: string, changed: WrittenDefaults): Promise<void> {
    const { path, defaults = {} } = await this.#source(from, name)
    await this.#catalogue.add({ name, path, source: 'created', defaults: mergedDefaults(defaults, changed) })
    // The next request gets the new defaults.
    await this.#models.slots()
  }

  /** Returns the path and the defaults of a model that gets the name `to`, too. */
  async #source(name: string, to: string): Promise<Pick<CatalogueEntry, 'path' | 'defaults'>> {
    this.#refusePrimary(plainName(to))
    const { served, source } = await this.#models.slot(name)
    if (plainName(name) !== plainName(served.name)) throw this.#models.unknown(name)
    const entry = source === 'primary' ? undefined : this.#catalogue.find(served.name)
    return { path: served.directory, ...defined({ defaults: entry?.defaults }) }
  }

  /** Removes a model or its unfinished download; deletes its files if they were pulled and no other name uses them. */
  async remove(requested: string): Promise<RemovedModel> {
    const { name, directory } = this.#models.primary.served
    if (plainName(requested) === plainName(name)) throw configured(name, 'plugins.model-server.model')
    const unfinished = await this.#puller.discard(plainName(requested))
    if (unfinished !== null && this.#catalogue.find(requested) === undefined) {
      return { name: plainName(requested), path: unfinished, deleted: true }
    }
    const removed = await this.#catalogue.remove(requested)
    // Unloads the model after its running requests.
    await this.#models.slots()
    const deleted = await this.#puller.deleteFiles(removed, [directory, ...this.#otherPaths])
    return { name: removed.name, path: removed.path, deleted }
  }

  #refusePrimary(name: string): void {
    const { served } = this.#models.primary
    if (name === plainName(served.name)) throw exists({ name: served.name, path: served.directory })
  }
}
