import type { DashboardRole, KernelPort } from '@svc/contracts'
import { Semaphore } from '@svc/plugin-sdk'
import { Feed } from './feed.ts'

/** Reads that run at the same time, over all pages. */
const MAX_READS = 4

export interface FeedsParts {
  readonly kernel: KernelPort
  readonly report: (error: unknown, operation: string) => void
}

/** Feeds of all connections. Equal subscriptions share one. */
export class Feeds {
  readonly #parts: FeedsParts
  readonly #slots = new Semaphore(MAX_READS)
  readonly #feeds = new Map<string, Feed>()
  readonly #keys = new Map<Feed, string>()

  constructor(parts: FeedsParts) {
    this.#parts = parts
  }

  /** Returns the feed of an operation, an input without `since` and `limit` of a delta, and a role. */
  open(operation: string, input: Readonly<Record<string, unknown>>, role: DashboardRole): Feed {
    const key = JSON.stringify([operation, role, sorted(input)])
    let feed = this.#feeds.get(key)
    if (feed === undefined) {
      feed = new Feed({ ...this.#parts, operation, input, role, slots: this.#slots })
      this.#feeds.set(key, feed)
      this.#keys.set(feed, key)
    }
    return feed
  }

  /** Closes a feed without subscribers. */
  release(feed: Feed): void {
    if (feed.subscribers.size > 0) return
    feed.close()
    this.#feeds.delete(this.#keys.get(feed) ?? '')
    this.#keys.delete(feed)
  }

  /** Adapts all feeds to a new generation. */
  refresh(): void {
    for (const feed of this.#feeds.values()) feed.refresh()
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.close()
    this.#feeds.clear()
    this.#keys.clear()
  }
}

/** Returns a value with the keys of its objects in order, so that equal inputs have equal texts. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]))
}
