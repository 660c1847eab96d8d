import type { DatabaseCollection, DatabaseCollections } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { providerErrors } from './errors.ts'

type Selection = { readonly session_id: string; readonly model: string; readonly selected_at: string }

const COLLECTION = 'model_selections'
/** Session of a selection for all sessions. */
const ALL = ''
const MAX_SESSIONS = 1_000

/** Models that people selected, in the database, and the last model of each session, in memory. */
export class Selections {
  readonly #collections: () => DatabaseCollections | undefined
  readonly #log: Logger
  readonly #previous = new Map<string, string>()
  #warned = false

  constructor(collections: () => DatabaseCollections | undefined, log: Logger) {
    this.#collections = collections
    this.#log = log
  }

  /** Returns the model of a session, else that of all sessions; null if nothing is selected. */
  async of(session: string | undefined): Promise<{ readonly model: string; readonly session: string | null } | null> {
    const own = session === undefined ? null : await this.#read(session)
    if (own !== null) return { model: own, session: session ?? null }
    const all = await this.#read(ALL)
    return all === null ? null : { model: all, session: null }
  }

  /** Stores a selection; null removes it. Throws `PRV_NO_DATABASE` and the errors of the database. */
  async select(session: string | undefined, model: string | null): Promise<void> {
    const collection = this.#collection()
    if (collection === undefined) {
      throw providerErrors.create('PRV_NO_DATABASE', 'a selected model is stored in the database, which is disabled', {
        hint: 'enable the plugin database with svc plugins enable database'
      })
    }
    const filter = { session_id: session ?? ALL }
    if (session === undefined) this.#previous.clear()
    else this.#previous.delete(session)
    if (model === null) {
      for (const { id } of await collection.find(filter)) await collection.delete(id)
      return
    }
    await collection.upsert(filter, () => ({ ...filter, model, selected_at: new Date().toISOString() }))
  }

  /** Last model of a session; null if it has none. */
  previous(session: string | undefined): string | null {
    return session === undefined ? null : (this.#previous.get(session) ?? null)
  }

  remember(session: string | undefined, model: string): void {
    if (session === undefined) return
    this.#previous.delete(session)
    this.#previous.set(session, model)
    const [oldest] = this.#previous.keys()
    if (this.#previous.size > MAX_SESSIONS && oldest !== undefined) this.#previous.delete(oldest)
  }

  async #read(session: string): Promise<string | null> {
    const collection = this.#collection()
    if (collection === undefined) return null
    try {
      const [found] = await collection.find({ session_id: session }, { limit: 1 })
      return found?.data.model ?? null
    } catch (error) {
      // A request to a model does not fail because the database does.
      if (!this.#warned) this.#log.warn('selected models are not readable', { reason: errorMessage(error) })
      this.#warned = true
      return null
    }
  }

  #collection(): DatabaseCollection<Selection> | undefined {
    return this.#collections()?.collection<Selection>(COLLECTION)
  }
}
