import type { Logger } from '@svc/plugin-sdk'

/** Time between two lines of one message, in milliseconds. */
const INTERVAL_MS = 60_000

interface Logged {
  /** Time of the last line. */
  at: number
  /** Number of events since the last line. */
  suppressed: number
}

/**
 * Logs warnings about clients, each message at most once a minute: any user of the machine can cause them. A line has the
 * number of events that were not logged before it as `suppressed`.
 */
export class LimitedLog {
  readonly #log: Pick<Logger, 'warn'>
  readonly #now: () => number
  readonly #logged = new Map<string, Logged>()

  /** `now`: monotonic clock in milliseconds. */
  constructor(log: Pick<Logger, 'warn'>, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  /** `message` must not contain text of a client. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void {
    const now = this.#now()
    const last = this.#logged.get(message)
    if (last !== undefined && now - last.at < INTERVAL_MS) {
      last.suppressed += 1
      return
    }
    const suppressed = last?.suppressed ?? 0
    this.#logged.set(message, { at: now, suppressed: 0 })
    this.#log.warn(message, suppressed === 0 ? fields : { ...fields, suppressed })
  }
}
