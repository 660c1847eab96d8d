import type { McpCall } from '@svc/contracts'

/** Added to the last value if progress has not increased; large enough to change any value up to a million. */
const MIN_INCREMENT = 1e-9

/**
 * Sends events and progress of a running call as MCP progress messages, whose `progress` must always increase.
 *
 * Events are numbered 1, 2, 3 until the operation reports progress. From then on, an event sends the last value plus
 * {@link MIN_INCREMENT}.
 */
export class EventProgress {
  readonly #call: Pick<McpCall, 'progress'>
  #last = 0
  #hasReported = false

  constructor(call: Pick<McpCall, 'progress'>) {
    this.#call = call
  }

  /** Sends an event as message: a string unchanged, any other value as JSON. */
  event(event: unknown): void {
    this.#last = this.#hasReported ? this.#last + MIN_INCREMENT : this.#last + 1
    this.#call.progress(this.#last, undefined, typeof event === 'string' ? event : JSON.stringify(event))
  }

  /** Reports progress. A value that does not increase is raised above the last one, so that the client gets the message. */
  report(done: number, total?: number, message?: string): void {
    const isFirst = !this.#hasReported && this.#last === 0
    this.#hasReported = true
    this.#last = isFirst ? done : Math.max(done, this.#last + MIN_INCREMENT)
    this.#call.progress(this.#last, total, message)
  }
}
