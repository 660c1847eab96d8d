import type { AgentEvent, AgentEventKind } from '@svc/contracts'

/** Default number of past events in memory. */
const CAPACITY = 1_024
/** Default number of events that wait for a slow reader. */
const BUFFER = 1_024

export interface EventBusOptions {
  /** Unix milliseconds. */
  readonly now: () => number
  /** Number of past events in memory; default 1,024. */
  readonly capacity?: number
  /** Receives the errors of listeners. They affect neither other listeners nor the publisher. */
  readonly report: (error: unknown) => void
}

/** An event for a reader, with the number of events dropped before it because the reader was slow. */
export interface ReadEvent {
  readonly event: AgentEvent
  readonly dropped: number
}

/** Receives the durable changes of records as `kind/key`; null if any record may have changed. */
export type RecordListener = (records: ReadonlySet<string> | null) => void

interface Reader {
  readonly waiting: AgentEvent[]
  dropped: number
  wake(): void
}

/** Numbers events, stores the last ones, and calls every listener for each event, in the same order for all. */
export class EventBus {
  readonly #options: EventBusOptions
  readonly #capacity: number
  readonly #ring: AgentEvent[] = []
  readonly #listeners = new Set<(event: AgentEvent) => void>()
  readonly #recordListeners = new Set<RecordListener>()
  /** Events published by listeners during a delivery; delivered after it, so that all listeners see the same order. */
  readonly #later: AgentEventKind[] = []
  #last = 0
  #delivering = false

  constructor(options: EventBusOptions) {
    this.#options = options
    this.#capacity = options.capacity ?? CAPACITY
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
    // A new function, so that the same listener can subscribe twice.
    const own = (event: AgentEvent): void => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Calls `listener` for the records of every durable change until the returned function is called. */
  subscribeRecords(listener: RecordListener): () => void {
    const own: RecordListener = records => listener(records)
    this.#recordListeners.add(own)
    return () => void this.#recordListeners.delete(own)
  }

  publishRecords(records: ReadonlySet<string> | null): void {
    if (this.#recordListeners.size === 0 || records?.size === 0) return
    for (const listener of this.#recordListeners) {
      try {
        listener(records)
      } catch (error) {
        this.#options.report(error)
      }
    }
  }

  /** Returns the last events, oldest first. */
  recent(limit = this.#capacity): readonly AgentEvent[] {
    const count = Math.min(Math.max(Math.trunc(limit), 0), this.#ring.length)
    return Array.from(
      { length: count },
      (_, at) => this.#ring[(this.#last - count + at) % this.#capacity] as AgentEvent
    )
  }

  /**
   * Iterates over new events. At most `buffer` events wait for a slow reader; beyond that, the oldest are dropped and
   * counted. After `signal` is aborted, the iteration ends once the waiting events are read.
   */
  read(signal: AbortSignal, buffer = BUFFER): AsyncGenerator<ReadEvent, void, undefined> {
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
