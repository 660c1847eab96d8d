import type { InputRequiredResult } from '@modelcontextprotocol/server'
import type { McpCall, McpInputRequired } from '@svc/contracts'

/** A call of a tool over any surface. */
export interface ToolCall extends McpCall {
  /** True if the client has disconnected. */
  readonly cancelled: boolean
  /** Requests input from the client, in wire form. Rejects if there is no client to ask. */
  seal(required: McpInputRequired): Promise<InputRequiredResult>
}

/** Whether a handler asks its client for input instead of answering. */
export function isInputRequired(outcome: unknown): outcome is McpInputRequired {
  return (outcome as { resultType?: unknown } | null)?.resultType === 'input_required'
}
