import type { Principal } from '@svc/plugin-sdk'
import type { McpInputs } from './input-required.ts'

/** Capabilities of a client, as MCP spells them, for example `{ sampling: {}, elicitation: { form: {} } }`. */
export type McpClientCapabilities = Readonly<Record<string, unknown>>

export type McpLogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

/** One request of an MCP client, as the handler of a raw tool, a resource or a prompt sees it. */
export interface McpCall {
  /** Aborted when the client cancels or disconnects. */
  readonly signal: AbortSignal
  readonly principal: Principal
  /** For example `2026-07-28`. */
  readonly protocolVersion: string
  readonly clientCapabilities: McpClientCapabilities
  /** W3C trace context of the caller, if it sent one. */
  readonly traceparent: string | undefined
  /** Answers to the requests of the previous round; see {@link McpInputRequired}. */
  readonly inputs: McpInputs
  /** The state of the previous round, or undefined in the first round. Its integrity has been checked. */
  readonly state: unknown
  /** Dropped when the client requested no progress. */
  progress(done: number, total?: number, message?: string): void
  /** A log line for the client; dropped if it requested none, or only more severe ones. */
  log(level: McpLogLevel, data: unknown, logger?: string): void
}
