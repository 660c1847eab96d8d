import type { McpCall } from '@svc/contracts'

/** Smallest increment that changes values up to a million. */
const STEP = 1e-9

/**
 * MCP has one channel for messages of a running call, and `progress` must increase with every message. Events are
 * numbered until the operation reports progress itself; from then on they get a value just above its last one.
 */
export class EventProgress {
  readonly #call: Pick<McpCall, 'progress'>
  #last = 0
  #reported = false

  constructor(call: Pick<McpCall, 'progress'>) {
    this.#call = call
  }

  event(event: unknown): void {
    this.#last = this.#reported ? this.#last + STEP : this.#last + 1
    this.#call.progress(this.#last, undefined, typeof event === 'string' ? event : JSON.stringify(event))
  }

  /** Reports progress. A value that does not increase is raised, so that the message still reaches the client. */
  report(done: number, total?: number, message?: string): void {
    const first = !this.#reported && this.#last === 0
    this.#reported = true
    this.#last = first ? done : Math.max(done, this.#last + STEP)
    this.#call.progress(this.#last, total, message)
  }
}
