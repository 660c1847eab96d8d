import type { ChangeFeed } from './change-feed.ts'
import type { LiveTopics } from './live-topics.ts'
import { type QueryAnswer, WatchedQuery } from './watched-query.ts'

/** Runs a query of the program. `query` is the query string with its arguments. */
export type RunQuery = (name: string, query: string) => Promise<QueryAnswer>

/** The queries that clients watch, over any connection. Clients of equal calls share one run per change. */
export class QueryWatches {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #runQuery: RunQuery
  readonly #watched = new Map<string, WatchedQuery>()

  constructor(topics: LiveTopics, feed: ChangeFeed, runQuery: RunQuery) {
    this.#topics = topics
    this.#feed = feed
    this.#runQuery = runQuery
  }

  /** Returns a query, and starts it if nobody watches it. Throws `RUN_LIVE_UNKNOWN`. */
  of(name: string, query: string): WatchedQuery {
    const tables = this.#topics.tablesOfQuery(name)
    const key = `${name}?${query}`
    const known = this.#watched.get(key)
    if (known !== undefined) return known
    const watched = new WatchedQuery({
      feed: this.#feed,
      tables,
      run: () => this.#runQuery(name, query),
      onLeft: () => this.#watched.delete(key)
    })
    this.#watched.set(key, watched)
    return watched
  }

  beat(): void {
    for (const watched of this.#watched.values()) watched.beat()
  }
}
