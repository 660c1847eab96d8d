import type { DatabaseCollection, DatabaseCollections } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

type Hidden = { readonly date: string; readonly quota: string }

const COLLECTION = 'hidden_quotas'
const MAX_HIDDEN = 1_000

/** Limits that a person does not want to see again on a day: in the database, or in memory without one. */
export class HiddenQuotas {
  readonly #collections: () => DatabaseCollections | undefined
  readonly #log: Pick<Logger, 'warn'>
  #own: { readonly date: string; readonly quotas: Set<string> } = { date: '', quotas: new Set() }

  constructor(collections: () => DatabaseCollections | undefined, log: Pick<Logger, 'warn'>) {
    this.#collections = collections
    this.#log = log
  }

  /** `date`: UTC day such as `2026-01-31`. Days before it are forgotten. */
  async add(date: string, quota: string): Promise<void> {
    if (this.#own.date !== date) this.#own = { date, quotas: new Set() }
    if (this.#own.quotas.size < MAX_HIDDEN) this.#own.quotas.add(quota)
    await this.#attempt(async collection => {
      for (const { id, data } of await collection.find({}, { limit: MAX_HIDDEN }))
        if (data.date < date) await collection.delete(id)
      await collection.upsert({ date, quota }, () => ({ date, quota }))
    })
  }

  async of(date: string): Promise<ReadonlySet<string>> {
    const found = new Set(this.#own.date === date ? this.#own.quotas : [])
    await this.#attempt(async collection => {
      for (const { data } of await collection.find({ date }, { limit: MAX_HIDDEN })) found.add(data.quota)
    })
    return found
  }

  /** The inbox works without the database. */
  async #attempt(use: (collection: DatabaseCollection<Hidden>) => Promise<void>): Promise<void> {
    const collection = this.#collections()?.collection<Hidden>(COLLECTION)
    if (collection === undefined) return
    try {
      await use(collection)
    } catch (error) {
      this.#log.warn('hidden limits of providers are kept in memory only', { reason: errorMessage(error) })
    }
  }
}
