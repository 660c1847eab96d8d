import { stat } from 'node:fs/promises'
import { errorMessage, type Logger, raceAbort } from '@svc/plugin-sdk'
import { AUTO_MODEL, bootstrapModels } from './bootstrap.ts'
import { type Catalog, fetchCatalog, readCache } from './catalog.ts'
import { type ModelEntry, nameOf, PRICING_SOURCES } from './entry.ts'
import { type ModelsFile, readModelsFile, writeDefaults } from './models-file.ts'

export interface RegistryPlaces {
  readonly modelsFile: string
  readonly catalogCache: string
  readonly catalogUrl: string
  readonly refreshMs: number
  /** Whether OpenRouter has a key; else its list is not read. */
  readonly readsCatalog: boolean
}

export interface LoadOptions {
  /** Whether to read the live list now. */
  readonly refresh?: boolean
  /** Whether to write models.toml, if there is none. */
  readonly create?: boolean
  readonly signal?: AbortSignal
}

export interface Registry {
  readonly models: readonly ModelEntry[]
  /** Models that pin a task category, from models.toml. */
  readonly premium: Readonly<Record<string, string>>
  /** Unix milliseconds of the list of OpenRouter; null if it was never read. */
  readonly catalogAt: number | null
  /** Human-readable problems of the sources. */
  readonly problems: readonly string[]
}

/** Maximum age of models.toml in memory before its modification time is read again. */
const FILE_CHECK_MS = 1_000

/** Reads and merges the sources of the model registry, later ones over earlier ones. */
export class RegistrySource {
  readonly #log: Logger
  readonly #observed = new Map<string, { tokens: number; cost: number }>()
  #catalog: Catalog | null | undefined
  #fetching: Promise<void> | undefined
  #triedAt = -Infinity
  #catalogProblem: string | null = null
  #file: { readonly path: string; readonly version: string; readonly content: ModelsFile } | undefined
  #fileProblem: string | null = null
  #checkedAt = -Infinity
  readonly #created = new Set<string>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the registry. `localModel`: model of the local server. With `refresh`, the live list is read now. */
  async load(localModel: string, places: RegistryPlaces, options: LoadOptions = {}): Promise<Registry> {
    if (options.create === true && !this.#created.has(places.modelsFile)) {
      this.#created.add(places.modelsFile)
      await writeDefaults(places.modelsFile)
    }
    const file = await this.#readFile(places.modelsFile)
    if (this.#catalog === undefined) this.#catalog = await readCache(places.catalogCache)
    await this.#refreshCatalog(places, options)
    const own = new Map(file.models.map(entry => [nameOf(entry), entry]))
    const merged = new Map<string, ModelEntry>()
    const sources = [
      bootstrapModels(localModel).filter(entry => isCurrent(entry, this.#catalog ?? null)),
      file.models,
      // The live list has current prices, but an entry of the user has priority over its other fields.
      (this.#catalog?.models ?? []).map(entry => under(entry, own.get(nameOf(entry))))
    ]
    for (const entry of sources.flat()) merged.set(nameOf(entry), this.#withObserved(entry))
    const problems = [this.#fileProblem, this.#catalogProblem].filter(problem => problem !== null)
    const catalogAt = this.#catalog?.fetchedAt ?? null
    return { models: [...merged.values()], premium: file.premium, catalogAt, problems }
  }

  /** Records what a provider charged for an answer; it becomes the observed price of the model. */
  observe(entry: Pick<ModelEntry, 'provider' | 'id'>, tokens: number, cost: number): void {
    const name = nameOf(entry)
    const before = this.#observed.get(name) ?? { tokens: 0, cost: 0 }
    this.#observed.set(name, { tokens: before.tokens + tokens, cost: before.cost + cost })
  }

  #withObserved(entry: ModelEntry): ModelEntry {
    const seen = this.#observed.get(nameOf(entry))
    return seen === undefined || seen.tokens === 0
      ? entry
      : { ...entry, observedCostPer1k: (seen.cost * 1_000) / seen.tokens }
  }

  /** Returns the content of models.toml; the last valid one if it is invalid now. */
  async #readFile(path: string): Promise<ModelsFile> {
    const now = performance.now()
    if (this.#file?.path === path && now - this.#checkedAt < FILE_CHECK_MS) return this.#file.content
    this.#checkedAt = now
    const version = await stat(path).then(
      ({ mtimeMs, size }) => `${mtimeMs}:${size}`,
      () => 'missing'
    )
    if (this.#file?.path === path && this.#file.version === version) return this.#file.content
    let content: ModelsFile = this.#file?.path === path ? this.#file.content : { models: [], premium: {} }
    try {
      content = await readModelsFile(path)
      this.#fileProblem = null
    } catch (error) {
      this.#fileProblem = errorMessage(error)
      this.#log.warn('models.toml is ignored', { file: path, reason: this.#fileProblem })
    }
    this.#file = { path, version, content }
    return content
  }

  /** Reads the live list if it is older than the limit. A failure keeps the previous list. */
  async #refreshCatalog(places: RegistryPlaces, options: LoadOptions): Promise<void> {
    if (!places.readsCatalog) return
    const age = Date.now() - (this.#catalog?.fetchedAt ?? 0)
    const due =
      options.refresh === true || (age >= places.refreshMs && performance.now() - this.#triedAt >= MIN_RETRY_MS)
    if (!due) return
    // Shared between callers, so that no signal of one of them ends it.
    this.#fetching ??= this.#fetch(places).finally(() => {
      this.#fetching = undefined
    })
    // A request to a model does not wait for a newer list, if there is one.
    if (options.refresh === true || this.#catalog === null) await raceAbort(options.signal, this.#fetching)
  }

  async #fetch({ catalogUrl, catalogCache }: RegistryPlaces): Promise<void> {
    this.#triedAt = performance.now()
    try {
      this.#catalog = await fetchCatalog(catalogUrl, catalogCache)
      this.#catalogProblem = null
    } catch (error) {
      this.#catalogProblem = errorMessage(error)
      this.#log.warn('the model list of OpenRouter was not read', { reason: this.#catalogProblem })
    }
  }
}

/** Minimum time between two attempts to read the live list. */
const MIN_RETRY_MS = 30_000

/** False for a built-in model of OpenRouter that its live list no longer has. */
function isCurrent({ provider, id }: ModelEntry, catalog: Catalog | null): boolean {
  if (catalog === null || provider !== 'openrouter' || id === AUTO_MODEL) return true
  return catalog.models.some(each => each.id === id)
}

/** Returns an entry of the live list: its price is the newer one, but the user's entry has priority over the rest. */
function under(entry: ModelEntry, own: ModelEntry | undefined): ModelEntry {
  if (own === undefined) return entry
  const rank = (each: ModelEntry) => PRICING_SOURCES.indexOf(each.pricingSource)
  const newer = rank(entry) >= rank(own) ? entry : own
  const { costPer1k, costPer1kInput, costPer1kOutput, pricingSource, isFree, priceAsOf, priceSource } = newer
  return { ...own, costPer1k, costPer1kInput, costPer1kOutput, pricingSource, isFree, priceAsOf, priceSource }
}
