import type { Identity } from '@svc/contracts'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import type { StreamCaller } from '../auth/guard.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { LiveAccess } from './live-access.ts'
import type { LiveTopics } from './live-topics.ts'
import type { LiveUpdates } from './live-updates.ts'
import { type QueryAnswer, WatchedQuery } from './watched-query.ts'

/** Runs a query of the program. `query` is the query string with its arguments, `caller` the caller as text. */
export type RunQuery = (name: string, query: string, caller: string) => Promise<QueryAnswer>

export interface QueryWatchesParts {
  readonly topics: LiveTopics
  readonly feed: ChangeFeed
  readonly access: LiveAccess
  readonly runQuery: RunQuery
  /** Receives the sent results; null if they are not reported. */
  readonly updates: LiveUpdates | null
}

/**
 * The queries that clients watch, over any connection. Equal calls share one run per change; if the result depends on
 * the caller, those of one identity.
 */
export class QueryWatches {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #access: LiveAccess
  readonly #runQuery: RunQuery
  readonly #updates: LiveUpdates | null
  readonly #watched = new Map<string, { readonly query: WatchedQuery; readonly identity: Identity | null }>()

  constructor({ topics, feed, access, runQuery, updates }: QueryWatchesParts) {
    this.#topics = topics
    this.#feed = feed
    this.#access = access
    this.#runQuery = runQuery
    this.#updates = updates
  }

  /** Returns a query for a caller. Throws `RUN_LIVE_UNKNOWN`, and the errors of the guard. */
  async of(name: string, query: string, stream: StreamCaller): Promise<WatchedQuery> {
    const tables = this.#topics.tablesOfQuery(name)
    const { identity, text, check } = await this.#access.admit([name], stream)
    // A query string contains no line break.
    const key = `${name}?${query}\n${text}`
    const known = this.#watched.get(key)
    if (known !== undefined) return known.query
    const watched = new WatchedQuery({
      feed: this.#feed,
      tables,
      run: () => this.#runQuery(name, query, text),
      check,
      onSent: clients => this.#updates?.result(name, clients),
      onLeft: () => this.#watched.delete(key)
    })
    this.#watched.set(key, { query: watched, identity })
    return watched
  }

  beat(): void {
    for (const { query } of this.#watched.values()) query.beat()
  }

  /** Ends the streams of identities that have ended. */
  recheck(isMeant: IdentityFilter): void {
    for (const { query, identity } of [...this.#watched.values()]) {
      if (identity !== null && isMeant(identity)) void query.recheck()
    }
  }
}
