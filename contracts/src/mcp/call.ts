import type { Principal } from '@svc/plugin-sdk'
import type { McpInputs } from './input-required.ts'

/** Capabilities of a client, as MCP spells them, for example `{ sampling: {}, elicitation: { form: {} } }`. */
export type McpClientCapabilities = Readonly<Record<string, unknown>>

export type McpLogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

/** One request of an MCP client, passed to handlers of raw tools, resources and prompts. */
export interface McpCall {
  /** Aborted when the client cancels or disconnects. */
  readonly signal: AbortSignal
  readonly principal: Principal
  /** True if the client is connected over HTTP; false over stdio and in this process. */
  readonly isOverHttp: boolean
  /** For example `2026-07-28`. */
  readonly protocolVersion: string
  readonly clientCapabilities: McpClientCapabilities
  /** Id of the request in log lines and errors; over HTTP that of the header `x-request-id`. */
  readonly requestId: string
  /** W3C trace context of the caller, if it sent one. */
  readonly traceparent: string | undefined
  /** Client's responses to the input requests of the previous round; see {@link McpInputRequired}. */
  readonly inputs: McpInputs
  /** State from the previous round, with its integrity checked; undefined in the first round. */
  readonly state: unknown
  /** Sends a progress notification; dropped if the client requested none. */
  progress(done: number, total?: number, message?: string): void
  /** Sends a log line to the client; dropped if the client requested none, or only more severe ones. */
  log(level: McpLogLevel, data: unknown, logger?: string): void
}
