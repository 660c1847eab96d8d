import type { DatabaseStore, HttpHandlerRoute, HttpUpgrade, Program } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { ChangeFeed } from './change-feed.ts'
import { LiveSockets } from './live-sockets.ts'
import { LiveTopics } from './live-topics.ts'
import { type AskQuery, QueryStreams } from './query-streams.ts'
import { TopicStreams } from './topic-streams.ts'

/** Milliseconds between two signs of life. */
const BEAT_MS = 15_000

export interface LiveOptions {
  /** The database of the program, with its tables in it. */
  readonly store: Pick<DatabaseStore, 'query' | 'mode'>
  readonly program: Program
  readonly ask: AskQuery
  readonly log: Logger
}

/** Live announcements of a served program's tables. */
export interface LiveService {
  readonly routes: readonly HttpHandlerRoute[]
  readonly upgrade: HttpUpgrade
  /** A route of the program after which changes are looked for at once, where it may have made some. */
  watched(route: HttpHandlerRoute): HttpHandlerRoute
  /** Looks for changes at once; to be called when the program has written. */
  nudge(): void
  /**
   * Ends all streams, so that clients come back to the successor. To be called as soon as nothing new comes: streams would
   * be waited for.
   */
  close(): void
}

/**
 * Streams of the changes of a program's tables, and of the results of its queries. Null where the program has no `.live`.
 *
 * 1. The tables have triggers that write changes down, see `migrateSchema`.
 * 2. With listeners, the database is polled for new changes; else nothing is done.
 * 3. `close` ends everything.
 */
export function openLive({ store, program, ask, log }: LiveOptions): LiveService | null {
  const topics = new LiveTopics(program)
  if (topics.isEmpty) return null
  const feed = new ChangeFeed(store, error => log.warn('changes of tables cannot be read', { error }))
  const streams = new TopicStreams(topics, feed)
  const queries = new QueryStreams(topics, feed, ask)
  const sockets = new LiveSockets(topics, feed)
  const heart = setInterval(() => {
    for (const each of [streams, queries, sockets]) each.beat()
  }, BEAT_MS).unref()
  return {
    routes: [
      {
        method: 'GET',
        path: '/api/live/:topic',
        summary: 'Changes of the tables of a topic, as server-sent events',
        handle: exchange => streams.handle(exchange)
      },
      {
        method: 'GET',
        path: '/api/live/query/:name',
        summary: 'Current result of a query after each change, as server-sent events',
        handle: exchange => queries.handle(exchange)
      }
    ],
    upgrade: {
      path: '/api/live',
      handle: (request, socket, head) => sockets.handle(request, socket, head)
    },
    watched: route => {
      if (route.method === 'GET') return route
      const onAnswered = (): void => feed.nudge()
      return {
        ...route,
        handle(exchange) {
          exchange.response.once('finish', onAnswered)
          route.handle(exchange)
        }
      }
    },
    nudge: () => feed.nudge(),
    close() {
      clearInterval(heart)
      sockets.close()
      feed.close()
    }
  }
}
