import type { McpInputs, McpPrincipal, McpToolsetCall } from '@svc/contracts'
import { randomHex } from '@svc/plugin-sdk'
import { mcpErrors } from './errors.ts'
import type { ToolCall } from './tool-call.ts'

const NO_INPUTS: McpInputs = { elicited: () => undefined, sampled: () => undefined, roots: () => undefined }
const NEVER = new AbortController().signal

/** Call by another surface, whose client receives progress but cannot provide input. */
export class DirectCall implements ToolCall {
  readonly principal: McpPrincipal
  readonly isOverHttp = false
  readonly protocolVersion = '2026-07-28'
  readonly clientCapabilities = {}
  readonly inputs = NO_INPUTS
  readonly state = undefined
  readonly #call: McpToolsetCall
  #requestId: string | undefined

  constructor(call: McpToolsetCall) {
    this.principal = call.principal
    this.#call = call
  }

  get requestId(): string {
    return (this.#requestId ??= this.#call.requestId ?? randomHex(8))
  }

  get signal(): AbortSignal {
    return this.#call.signal ?? NEVER
  }

  get cancelled(): boolean {
    return this.#call.cancelled ?? this.#call.signal?.aborted ?? false
  }

  get traceparent(): string | undefined {
    return this.#call.traceparent
  }

  progress(done: number, total?: number, message?: string): void {
    this.#call.onProgress?.(done, total, message)
  }

  log(): void {}

  async seal(): Promise<never> {
    throw mcpErrors.create(
      'MCP_CLIENT_NEEDED',
      'the tool requests input from its client, and this surface has no such client',
      {
        hint: 'call the tool over MCP, with a client that supports input requests'
      }
    )
  }
}
