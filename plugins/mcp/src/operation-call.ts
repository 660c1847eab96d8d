import type { Invocation } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { EventProgress } from './event-progress.ts'
import type { ToolCall } from './tool-call.ts'

/** Adapts a tool call to an invocation of its operation. Rarely used members are created on first use. */
export class OperationCall implements Invocation {
  readonly surface = 'mcp'
  declare readonly traceparent?: string
  readonly #call: ToolCall
  #progress: EventProgress | undefined

  constructor(call: ToolCall) {
    this.#call = call
    const { traceparent } = call
    if (traceparent !== undefined) this.traceparent = traceparent
  }

  get principal(): Principal {
    return this.#call.principal
  }

  get requestId(): string {
    return this.#call.requestId
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }

  get cancelled(): boolean {
    return this.#call.cancelled
  }

  onEvent(event: unknown): void {
    this.#eventProgress.event(event)
  }

  onProgress(done: number, total?: number, message?: string): void {
    this.#eventProgress.report(done, total, message)
  }

  get #eventProgress(): EventProgress {
    return (this.#progress ??= new EventProgress(this.#call))
  }
}
