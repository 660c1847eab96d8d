import { setTimeout as delay } from 'node:timers/promises'
import type { AgentEvent } from '@svc/contracts'
import { RateCounter } from './rates.ts'
import type { Snapshot, StatusReport } from './snapshot.ts'
import { MAX_EVENTS, type Source } from './source.ts'

const RETRY_MS = 500

/** Follows a source, and reconnects if the connection is lost. */
export class Watcher {
  readonly #find: () => Promise<Source | null>
  readonly #rates = new RateCounter(Date.now())
  #source: Source
  #events: AgentEvent[] = []
  #status: StatusReport | null = null
  #lost: string | null = null

  /** `find`: finds the source again after a loss. */
  constructor(source: Source, find: () => Promise<Source | null>) {
    this.#source = source
    this.#find = find
  }

  /** Follows the events until `signal` is aborted. Does not throw. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const source = this.#source
      try {
        await source.follow(event => this.#add(event), signal)
        if (!signal.aborted) this.#lost = 'the daemon has ended the event stream'
      } catch (error) {
        this.#lost = (error as Error).message
      }
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const found = await this.#find().catch(() => null)
      if (found === null) continue
      if (found.origin.kind === 'daemon' && !isSame(found, source)) this.#events = []
      this.#source = found
    }
  }

  /** Reads one snapshot. Does not throw: an error is in `lost`. */
  async look(signal: AbortSignal): Promise<Snapshot> {
    try {
      this.#status = await this.#source.status(signal)
      this.#lost = null
    } catch (error) {
      this.#lost = (error as Error).message
    }
    const now = Date.now()
    return {
      at_ms: now,
      origin: this.#source.origin,
      lost: this.#lost,
      status: this.#status,
      rates: this.#rates.rates(now),
      events: [...this.#events]
    }
  }

  #add(event: AgentEvent): void {
    // A restarted stream repeats the last events.
    if (event.id <= (this.#events.at(-1)?.id ?? 0)) return
    this.#rates.count(event)
    this.#events.push(event)
    if (this.#events.length > MAX_EVENTS) this.#events.shift()
  }
}

function isSame(a: Source, b: Source): boolean {
  return a.origin.kind === 'daemon' && b.origin.kind === 'daemon' && a.origin.pid === b.origin.pid
}
