import {
  type DatabaseStore,
  type DatabaseTransaction,
  rowsByName,
  type SqlParameters,
  type SqlValue
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'

export type Row = Readonly<Record<string, SqlValue>>

/**
 * `published_news`: one row for each digest and channel, which exists before anything is sent. `syndication_events`: what
 * happened to it. `recorded`: whether the event was copied to the attempts of the publication.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS published_news (
  news_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  channel TEXT NOT NULL,
  attempt_key TEXT NOT NULL,
  state TEXT NOT NULL,
  may_exist INTEGER NOT NULL DEFAULT 0,
  checkpoint_json TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  lock_owner TEXT,
  lock_expires_at_ms INTEGER,
  next_retry_at_ms INTEGER,
  failure_json TEXT,
  external_id TEXT,
  url TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (news_id, content_sha3_256, channel)
);
CREATE INDEX IF NOT EXISTS published_news_due ON published_news (state, next_retry_at_ms);
CREATE TABLE IF NOT EXISTS syndication_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  news_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  channel TEXT NOT NULL,
  event TEXT NOT NULL,
  detail_json TEXT NOT NULL,
  recorded INTEGER NOT NULL DEFAULT 1,
  at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS syndication_events_item ON syndication_events (news_id, channel);
CREATE INDEX IF NOT EXISTS syndication_events_open ON syndication_events (recorded) WHERE recorded = 0;
`

/** Tables of this plugin in the primary database, created at the first use. */
export class Tables {
  readonly #store: DatabaseStore | undefined
  #ready: Promise<void> | null = null

  constructor(store: DatabaseStore | undefined) {
    this.#store = store
  }

  get isAvailable(): boolean {
    return this.#store !== undefined
  }

  rows(sql: string, parameters: SqlParameters = []): Promise<Row[]> {
    return this.#prepared(async store => rowsByName(await store.query(sql, parameters)))
  }

  write<A>(run: (tx: DatabaseTransaction) => Promise<A>): Promise<A> {
    return this.#prepared(store => store.transaction(run))
  }

  async #prepared<A>(run: (store: DatabaseStore) => Promise<A>): Promise<A> {
    const store = this.#store
    if (store === undefined) {
      throw newsErrors.create('NEWS_DATABASE_MISSING', 'news: the plugin database does not run', {
        hint: 'svc plugins enable database'
      })
    }
    await this.#prepare(store)
    try {
      return await run(store)
    } catch (error) {
      // The file was replaced by one without these tables. The failed call changed nothing.
      if (!isSvcError(error, 'DBS_SYNTAX') || !/no such table/i.test(error.message)) throw error
      this.#ready = null
      await this.#prepare(store)
      return run(store)
    }
  }

  async #prepare(store: DatabaseStore): Promise<void> {
    this.#ready ??= store.migrate(SCHEMA)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      throw error
    }
  }
}

/** Returns rows of a transaction as objects. */
export async function rowsIn(tx: DatabaseTransaction, sql: string, parameters: SqlParameters = []): Promise<Row[]> {
  return rowsByName(await tx.query(sql, parameters))
}

/** Changes rows in a transaction, and returns how many. */
export async function changeIn(tx: DatabaseTransaction, sql: string, parameters: SqlParameters = []): Promise<number> {
  const { changes } = await tx.execute(sql, parameters)
  return changes
}
