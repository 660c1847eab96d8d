import type { AgentEvent, AgentEventKind } from '@svc/contracts'

/** Number of last events that are kept. */
const KEPT = 1_024
/** Events that wait for a slow reader. */
const BUFFERED = 1_024

export interface EventBusOptions {
  /** Unix milliseconds. */
  readonly now: () => number
  /** Events that are kept; default 1,024. */
  readonly capacity?: number
  /** Receives the errors of listeners, which affect neither the others nor the publisher. */
  readonly report: (error: unknown) => void
}

/** An event for a reader, with the number of events dropped before it because the reader was slow. */
export interface ReadEvent {
  readonly event: AgentEvent
  readonly dropped: number
}

interface Reader {
  readonly waiting: AgentEvent[]
  dropped: number
  wake(): void
}

/** Numbers events, keeps the last ones, and calls every listener for each, in one order. */
export class EventBus {
  readonly #options: EventBusOptions
  readonly #capacity: number
  readonly #ring: AgentEvent[] = []
  readonly #listeners = new Set<(event: AgentEvent) => void>()
  /** Events that listeners publish during a notification come after it for every listener. */
  readonly #later: AgentEventKind[] = []
  #last = 0
  #delivering = false

  constructor(options: EventBusOptions) {
    this.#options = options
    this.#capacity = options.capacity ?? KEPT
  }

  publish(kinds: readonly AgentEventKind[]): void {
    for (const kind of kinds) this.emit(kind)
  }

  emit(kind: AgentEventKind): void {
    if (this.#delivering) {
      this.#later.push(kind)
      return
    }
    this.#deliver(kind)
    for (let next = this.#later.shift(); next !== undefined; next = this.#later.shift()) this.#deliver(next)
  }

  /** Calls `listener` for every event until the returned function is called. */
  subscribe(listener: (event: AgentEvent) => void): () => void {
    // A separate object, so that one function may listen twice.
    const own = (event: AgentEvent): void => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** The last ones, oldest first. */
  recent(limit = this.#capacity): readonly AgentEvent[] {
    const count = Math.min(Math.max(Math.trunc(limit), 0), this.#ring.length)
    return Array.from(
      { length: count },
      (_, at) => this.#ring[(this.#last - count + at) % this.#capacity] as AgentEvent
    )
  }

  /**
   * New events for a slow reader: at most `buffer` wait for it; beyond that, the oldest are dropped and counted. Ends
   * with the reader's loop, and when `signal` is aborted, after what waits was read.
   */
  read(signal: AbortSignal, buffer = BUFFERED): AsyncGenerator<ReadEvent, void, undefined> {
    const reader: Reader = { waiting: [], dropped: 0, wake: () => {} }
    const stop = this.subscribe(event => {
      reader.waiting.push(event)
      if (reader.waiting.length > buffer) {
        reader.waiting.shift()
        reader.dropped += 1
      }
      reader.wake()
    })
    const aborted = (): void => {
      stop()
      reader.wake()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', aborted, { once: true })
    return readAll(reader, signal, () => {
      stop()
      signal.removeEventListener('abort', aborted)
    })
  }

  #deliver(kind: AgentEventKind): void {
    const event: AgentEvent = { id: this.#last + 1, timestamp_ms: this.#options.now(), kind }
    this.#ring[this.#last % this.#capacity] = event
    this.#last += 1
    if (this.#listeners.size === 0) return
    this.#delivering = true
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#options.report(error)
      }
    }
    this.#delivering = false
  }
}

async function* readAll(reader: Reader, signal: AbortSignal, end: () => void): AsyncGenerator<ReadEvent> {
  try {
    for (;;) {
      const event = reader.waiting.shift()
      if (event !== undefined) {
        const { dropped } = reader
        reader.dropped = 0
        yield { event, dropped }
      } else if (signal.aborted) return
      else
        await new Promise<void>(resolve => {
          reader.wake = resolve
        })
    }
  } finally {
    end()
  }
}
