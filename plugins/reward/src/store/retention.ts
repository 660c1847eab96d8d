import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { rowsOf } from './load-state.ts'
import type { RewardStore } from './reward-store.ts'

const DAY_MS = 86_400_000
const START_MS = 60_000
const INTERVAL_MS = 3_600_000
/** Rows of one statement, and the pause after it, in which others can write. */
const BATCH_ROWS = 200
const PAUSE_MS = 50

/**
 * Rows of `agent_events` that this plugin wrote: the event, with its type. Other plugins use the table, too, with other
 * payloads.
 */
export const OWN_EVENTS = `json_valid(payload_json) AND payload_json ->> 'type' = event_type`

const TABLES = [
  { table: 'agent_events', time: 'timestamp', own: OWN_EVENTS },
  { table: 'gamify_policy_snapshots', time: 'created_at', own: '1' }
] as const

export interface RetentionOptions {
  readonly store: RewardStore
  /** Returns the days of the setting; 0: rows are kept. */
  readonly days: () => number
  readonly changed: () => void
  readonly log: Pick<Logger, 'warn'>
}

/** Deletes old events and rewards while svc serves, in small batches. */
export class Retention {
  readonly #options: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** Deletes a minute after the start, and then each hour. Ends with the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (let wait = START_MS; await pause(wait, signal); wait = INTERVAL_MS) {
      try {
        await this.prune(Date.now(), signal)
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn('old events could not be deleted', { reason: errorMessage(error) })
      }
    }
  }

  /** Deletes what is older than the setting allows. Returns the number of rows. */
  async prune(now: number, signal: AbortSignal): Promise<number> {
    const days = this.#options.days()
    if (days === 0) return 0
    const before = Math.floor((now - days * DAY_MS) / 1_000)
    let rows = 0
    for (const each of TABLES) rows += await this.#pruneTable(each, before, signal)
    if (rows > 0) this.#options.changed()
    return rows
  }

  /**
   * Walks through the rows by id, oldest first, up to a batch without an old row. Rows are stored in the order of their
   * times, but for those that waited for a database.
   */
  async #pruneTable(
    { table, time, own }: (typeof TABLES)[number],
    before: number,
    signal: AbortSignal
  ): Promise<number> {
    const { store } = this.#options
    let deleted = 0
    for (let last = 0; ; ) {
      signal.throwIfAborted()
      const [batch] = await rowsOf(
        await store.reader(),
        `SELECT max(id) AS last, coalesce(sum(${time} < datetime(?2, 'unixepoch')), 0) AS old
         FROM (SELECT id, ${time} FROM ${table} WHERE id > ?1 ORDER BY id LIMIT ${BATCH_ROWS})`,
        [last, before]
      )
      if (batch === undefined || Number(batch.old) === 0) return deleted
      const next = Number(batch.last)
      deleted += await store.batch([
        {
          sql: `DELETE FROM ${table} WHERE id > ? AND id <= ? AND ${time} < datetime(?, 'unixepoch') AND ${own}`,
          parameters: [last, next, before]
        }
      ])
      last = next
      await delay(PAUSE_MS, undefined, { signal })
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
