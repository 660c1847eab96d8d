import type { LoadedModel } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { Catalogue, CatalogueEntry } from './catalogue/catalogue.ts'
import { plainName } from './catalogue/model-name.ts'
import type { Completions } from './completions.ts'
import { errors } from './errors.ts'
import type { ModelActivity } from './model-activity.ts'
import type { ModelLoader } from './model-loader.ts'
import { quoted, type ServedModel } from './served-model.ts'
import { shownName } from './shown-name.ts'
import type { ChosenModel, ModelChoice, ModelChoices } from './wire-services.ts'

/** One model of this server, with what is needed to run requests on it. */
export interface ModelSlot extends ModelChoice {
  readonly served: ServedModel
  readonly weights: ModelLoader
  readonly completions: Completions
  readonly activity: ModelActivity
  readonly source: 'primary' | CatalogueEntry['source']
  /** Unloads the model after its running requests, and stops recording it. */
  retire(): Promise<void>
}

interface OpenedSlot {
  readonly entry: CatalogueEntry
  readonly slot: Promise<ModelSlot>
  /** Set once the promise has resolved. */
  opened?: ModelSlot
}

/** Opens the slot of a model, without loading the model. */
export type OpenSlot = (entry: CatalogueEntry) => Promise<ModelSlot>

/**
 * All models of this server: the primary one, which is loaded at the start, and those of the catalogue, which the first
 * request for them loads.
 */
export class ServedModels implements ModelChoices {
  readonly primary: ModelSlot
  readonly #catalogue: Catalogue
  readonly #open: OpenSlot
  readonly #log: Pick<Logger, 'warn' | 'error'>
  readonly #slots = new Map<string, OpenedSlot>()
  #problem: string | undefined

  constructor(primary: ModelSlot, catalogue: Catalogue, open: OpenSlot, log: Pick<Logger, 'warn' | 'error'>) {
    this.primary = primary
    this.#catalogue = catalogue
    this.#open = open
    this.#log = log
  }

  /** Returns every model, the primary one first. */
  async slots(): Promise<readonly ModelSlot[]> {
    const entries = this.#entries()
    this.#retireOthers(entries)
    return [this.primary, ...(await Promise.all(entries.map(entry => this.#slot(entry))))]
  }

  /**
   * Returns the model that a request names: the primary one without a name. The name may have the tag `:latest` or the
   * name of an adapter; then the longest model name counts. Throws `MSV_MODEL_UNKNOWN`.
   */
  async slot(requested: string | undefined): Promise<ModelSlot> {
    const entries = this.#entries()
    this.#retireOthers(entries)
    const { served } = this.primary
    if (requested === undefined || requested === '') return this.primary
    const names = [served.name, ...entries.map(({ name }) => name)]
    const [name] = names.filter(each => isNamed(each, requested)).toSorted((a, b) => b.length - a.length)
    if (name === served.name) return this.primary
    const entry = entries.find(each => each.name === name)
    if (entry !== undefined) return this.#slot(entry)
    if (entries.length === 0) throw served.unknown(requested)
    throw this.unknown(requested)
  }

  /**
   * Returns the model that a request names. Loads it if its properties are not known yet, and keeps it until the signal
   * is aborted. Throws `MSV_MODEL_UNKNOWN`, `MSV_MODEL_FAILED`, `MSV_MEMORY`, or the reason of the signal.
   */
  async choose(requested: string | undefined, signal: AbortSignal): Promise<ModelSlot & ChosenModel> {
    const slot = await this.slot(requested)
    if (slot === this.primary || slot.served.known !== undefined) return { ...slot, loadNs: 0 }
    const { loadNs } = await slot.weights.use(signal)
    return { ...slot, loadNs }
  }

  /** Returns all names that clients can request, as far as they are known. */
  names(): readonly string[] {
    return [...this.primary.served.names(), ...this.#entries().flatMap(entry => this.#namesOf(entry))]
  }

  /** True if the name is served, or may be once its model is loaded. */
  has(requested: string): boolean {
    return this.primary.served.has(requested) || this.#entries().some(({ name }) => isNamed(name, requested))
  }

  /** Returns the error for an unknown name. */
  unknown(requested: string): Error {
    const served = this.names()
    const message = `model ${shownName(requested)} not found; this server has ${quoted(served)}`
    return errors.create('MSV_MODEL_UNKNOWN', message, { data: { param: 'model', asked: requested, served } })
  }

  /** Returns the models in memory. */
  loaded(): readonly { readonly name: string; readonly model: LoadedModel }[] {
    return this.opened().flatMap(({ served: { name, state } }) =>
      state.status === 'ready' ? [{ name, model: state.model }] : []
    )
  }

  /** Returns the models that requests or lists have named since the start. */
  opened(): readonly ModelSlot[] {
    return [this.primary, ...[...this.#slots.values()].flatMap(({ opened }) => opened ?? [])]
  }

  /** Returns the entries that the primary model does not hide. */
  #entries(): readonly CatalogueEntry[] {
    const primary = plainName(this.primary.served.name)
    return this.#listed().filter(({ name }) => name !== primary)
  }

  /** Returns all entries. Logs an invalid list of models once; then, those of the settings remain. */
  #listed(): readonly CatalogueEntry[] {
    try {
      const entries = this.#catalogue.entries()
      this.#problem = undefined
      return entries
    } catch (error) {
      const problem = errorMessage(error)
      if (problem !== this.#problem) this.#log.error(problem, { error })
      this.#problem = problem
      return this.#catalogue.configured()
    }
  }

  #namesOf({ name }: CatalogueEntry): readonly string[] {
    return this.#slots.get(name)?.opened?.served.names() ?? [name]
  }

  #slot(entry: CatalogueEntry): Promise<ModelSlot> {
    const present = this.#slots.get(entry.name)
    if (present !== undefined) return present.slot
    const slot = this.#open(entry)
    const record: OpenedSlot = { entry, slot }
    this.#slots.set(entry.name, record)
    slot.then(
      opened => {
        record.opened = opened
      },
      () => this.#slots.delete(entry.name)
    )
    return slot
  }

  /** Unloads models that were removed or changed. */
  #retireOthers(entries: readonly CatalogueEntry[]): void {
    for (const [name, { entry, slot }] of this.#slots) {
      if (entries.some(each => isUnchanged(each, entry))) continue
      this.#slots.delete(name)
      slot
        .then(opened => opened.retire())
        .catch((error: unknown) => this.#log.warn(`cannot unload the removed model '${name}'`, { error }))
    }
  }
}

function isUnchanged(entry: CatalogueEntry, before: CatalogueEntry): boolean {
  return entry.name === before.name && entry.path === before.path && entry.added_at === before.added_at
}

function isNamed(name: string, requested: string): boolean {
  return requested === name || requested.startsWith(`${name}:`)
}
