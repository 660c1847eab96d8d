import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { NewsItem } from './items/item.ts'
import type { Newsroom } from './operations/newsroom.ts'
import { digestOf } from './publishing/compose.ts'
import type { PostStore } from './publishing/post-store.ts'
import type { Publisher } from './publishing/publisher.ts'
import type { Settings } from './settings.ts'

const RETRY_EVERY_MS = 15_000
const MAX_DUE = 20
/** Delay of a due post that may not be sent now, such as after a revoked approval. */
const HELD_DELAY_MS = 300_000

export interface ServingOptions {
  readonly settings: () => Settings
  readonly newsroom: Newsroom
  readonly publisher: Publisher
  readonly store: PostStore
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly now?: () => number
}

/** Scans at the start and by an interval, and planned attempts, while svc serves. */
export class Serving {
  readonly #options: ServingOptions
  /** Warnings of the last scan and of this one: each is logged once as long as it stays. */
  #warned = new Set<string>()
  #warnings = new Set<string>()

  constructor(options: ServingOptions) {
    this.#options = options
  }

  /** Scans once, and then by the interval. Ends with the signal. */
  async scans(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#guarded('news could not be scanned', signal, () => this.#scan(signal))
      const { scan_interval_s } = this.#options.settings()
      if (scan_interval_s === 0 || !(await pause(scan_interval_s * 1_000, signal))) return
    }
  }

  /** Repeats due attempts while publishing is enabled. Ends with the signal. */
  async retries(signal: AbortSignal): Promise<void> {
    do {
      if (this.#options.settings().enabled && !this.#options.settings().dry_run && this.#options.store.isAvailable) {
        await this.#guarded('planned attempts could not be made', signal, () => this.sendDue(signal))
      }
    } while (await pause(RETRY_EVERY_MS, signal))
  }

  /** Makes the attempts that are due. */
  async sendDue(signal: AbortSignal): Promise<void> {
    const { newsroom, publisher, store, settings, now = Date.now } = this.#options
    const due = await store.due(MAX_DUE)
    if (due.length === 0) return
    const { items } = await newsroom.scan(signal)
    for (const record of due) {
      const item = items.find(({ id }) => id === record.newsId)
      if (item === undefined || digestOf(item, settings()) !== record.digest) {
        await store.abandon(record)
        continue
      }
      // It was allowed to begin, so an earlier text of the item does not prevent it.
      const only = [record.channel]
      const { channels } = await publisher.publish(item, { dryRun: false, only, again: true, restart: false, signal })
      const isHeld = channels.some(each => each.outcome !== 'Success' && (each.outcome !== 'Failed' || !each.retryable))
      if (isHeld) await store.postpone(record, now() + HELD_DELAY_MS)
    }
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const { newsroom, publisher, settings, store } = this.#options
    const { items, problems } = await newsroom.scan(signal)
    const refused = store.isAvailable ? await publisher.prepareAll(items) : []
    for (const { file, line, message, hint } of [...problems, ...refused])
      this.#warn(`news item: ${message}`, { file, line, hint })
    if (store.isAvailable && settings().publish_on_scan) {
      const isRefused = new Set(refused.map(({ file }) => file))
      for (const item of items) if (!item.draft && !isRefused.has(item.file)) await this.#publish(item, signal)
    }
    this.#warned = this.#warnings
    this.#warnings = new Set()
  }

  #warn(message: string, fields: Readonly<Record<string, unknown>>): void {
    const key = JSON.stringify([message, fields])
    if (!this.#warned.has(key) && !this.#warnings.has(key)) this.#options.log.warn(message, fields)
    this.#warnings.add(key)
  }

  async #publish(item: NewsItem, signal: AbortSignal): Promise<void> {
    const { publisher, log } = this.#options
    const { channels, gate } = await publisher.publish(item, { dryRun: false, again: false, untried: true, signal })
    if (!gate.open) return
    for (const each of channels) {
      if (each.outcome === 'Failed' && !each.decision_reasons.includes('already_tried')) {
        this.#warn('a news item was not sent', { news: item.id, channel: each.channel, reason: each.message })
      } else if (each.outcome === 'Success' && !each.decision_reasons.includes('already_sent')) {
        log.info('a news item was sent', { news: item.id, channel: each.channel, external_id: each.external_id })
      }
    }
  }

  async #guarded(problem: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn(problem, { reason: errorMessage(error) })
    }
  }
}

/** Waits. Returns false if the signal ended the wait. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal, ref: false })
    return true
  } catch {
    return false
  }
}
