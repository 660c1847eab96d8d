import type { DatabaseStore, HttpHandlerRoute, HttpUpgrade, Program } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import type { Guards } from '../auth/guard.ts'
import { ChangeFeed } from './change-feed.ts'
import { LiveAccess } from './live-access.ts'
import { LiveSockets } from './live-sockets.ts'
import { LiveTopics } from './live-topics.ts'
import { LiveUpdates, type OnUpdate } from './live-updates.ts'
import { QueryStreams } from './query-streams.ts'
import { QueryWatches, type RunQuery } from './query-watches.ts'
import { TopicStreams } from './topic-streams.ts'

/** Heartbeat interval in milliseconds. */
const BEAT_MS = 15_000

export interface LiveOptions {
  /** The database of the program, after its migration. */
  readonly store: Pick<DatabaseStore, 'query' | 'mode'>
  readonly program: Program
  readonly ask: RunQuery
  readonly guards: Pick<Guards, 'of'>
  readonly log: Logger
  readonly onUpdate?: OnUpdate
}

/** Live announcements of a served program's tables. */
export interface LiveService {
  readonly routes: readonly HttpHandlerRoute[]
  readonly upgrade: HttpUpgrade
  /** Wraps a route so that changes are polled after each request, unless its method is GET. */
  watched(route: HttpHandlerRoute): HttpHandlerRoute
  /** Polls immediately; call it after the program has written. */
  nudge(): void
  /** Checks the callers of streams again, and ends those of identities that have ended. */
  recheck(isMeant: IdentityFilter): void
  /** Ends all streams, so that clients reconnect to the next version. Call before a drain, which waits for streams. */
  close(): void
}

/**
 * Opens the streams of a program's table changes and query results. Returns null if the program has no `.live`.
 *
 * Triggers of the tables record changes, see `migrateSchema`. While there are listeners, the database is polled for
 * changes.
 */
export function openLive({ store, program, ask, guards, log, onUpdate }: LiveOptions): LiveService | null {
  const updates = onUpdate === undefined ? null : new LiveUpdates(onUpdate)
  const topics = new LiveTopics(program, updates)
  if (topics.isEmpty) return null
  const feed = new ChangeFeed(store, error => log.warn('table changes cannot be read', { error }))
  const access = new LiveAccess(guards)
  const streams = new TopicStreams(topics, feed, access)
  const watches = new QueryWatches({ topics, feed, access, runQuery: ask, updates })
  const queries = new QueryStreams(watches)
  const sockets = new LiveSockets({ topics, feed, watches, access })
  const heart = setInterval(() => {
    for (const each of [streams, watches, sockets]) each.beat()
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
      handle: (request, socket, head, caller) => sockets.handle(request, socket, head, caller)
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
    recheck(isMeant) {
      for (const each of [streams, watches, sockets]) each.recheck(isMeant)
    },
    close() {
      clearInterval(heart)
      sockets.close()
      feed.close()
    }
  }
}
