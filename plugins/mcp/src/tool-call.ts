import type { InputRequiredResult } from '@modelcontextprotocol/server'
import type { McpCall, McpInputRequired } from '@svc/contracts'

/** Call of a tool over any surface. */
export interface ToolCall extends McpCall {
  /** True if the client has disconnected. */
  readonly cancelled: boolean
  /** Returns an input request in wire format. Rejects if the surface has no client that can provide input. */
  seal(required: McpInputRequired): Promise<InputRequiredResult>
}

/** Returns whether a handler requests input from the client instead of returning a result. */
export function isInputRequired(outcome: unknown): outcome is McpInputRequired {
  return (outcome as { resultType?: unknown } | null)?.resultType === 'input_required'
}
