import type { DatabaseStore, DatabaseTransaction, SqlStatement } from '@svc/contracts'
import { SCHEMA } from './schema.ts'

const DAY_MS = 86_400_000
/** Days for which an event with an id counts once, and for which combos and lists of events go back. */
const KEPT_EVENT_DAYS = 30
const KEPT_NOTIFICATION_DAYS = 90
const KEPT_COUNTER_DAYS = 400
const PRUNE_INTERVAL_MS = 3_600_000

/** Database of this plugin. Its tables are created at the first use. */
export class RewardStore {
  readonly #store: DatabaseStore
  #ready: Promise<void> | null = null
  #prunedAt = 0

  constructor(store: DatabaseStore) {
    this.#store = store
  }

  /** Whether this process has used the tables. */
  get isOpen(): boolean {
    return this.#ready !== null
  }

  async transaction<A>(run: (tx: DatabaseTransaction) => Promise<A>): Promise<A> {
    await this.#prepare()
    return await this.#store.transaction(run)
  }

  /** Runs all statements or none, and returns the number of changed rows. */
  async batch(statements: readonly SqlStatement[]): Promise<number> {
    await this.#prepare()
    const results = await this.#store.batch(statements)
    return results.reduce((sum, { changes }) => sum + changes, 0)
  }

  /** Returns the store for queries. */
  async reader(): Promise<Pick<DatabaseTransaction, 'query'>> {
    await this.#prepare()
    return this.#store
  }

  /** Removes old rows, at most once an hour. */
  async prune(now: number): Promise<void> {
    if (now - this.#prunedAt < PRUNE_INTERVAL_MS) return
    this.#prunedAt = now
    const before = (days: number): number => now - days * DAY_MS
    const day = new Date(before(KEPT_COUNTER_DAYS)).toISOString().slice(0, 10)
    await this.#store.batch([
      { sql: 'DELETE FROM gamify_processed_events WHERE at < ?', parameters: [before(KEPT_EVENT_DAYS)] },
      { sql: 'DELETE FROM gamify_notifications WHERE created_at < ?', parameters: [before(KEPT_NOTIFICATION_DAYS)] },
      { sql: 'DELETE FROM gamify_hint_telemetry WHERE created_at < ?', parameters: [before(KEPT_NOTIFICATION_DAYS)] },
      { sql: 'DELETE FROM gamify_daily_counters WHERE day < ?', parameters: [day] },
      { sql: 'DELETE FROM gamify_quests WHERE day < ?', parameters: [day] }
    ])
  }

  async #prepare(): Promise<void> {
    this.#ready ??= this.#store.migrate(SCHEMA)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      throw error
    }
  }
}
