import type { InputRequiredResult } from '@modelcontextprotocol/server'
import type { McpCall, McpInputRequired } from '@svc/contracts'
import type { ToolView } from './toolsets.ts'

/** Call of a tool over any surface. */
export interface ToolCall extends McpCall {
  /** True if the client has disconnected. */
  readonly cancelled: boolean
  /** Tools that the client receives; undefined if the surface lists all of them. */
  readonly view?: ToolView | undefined
  /** Returns an input request in wire format. Rejects if the surface has no client that can provide input. */
  seal(required: McpInputRequired): Promise<InputRequiredResult>
}

/** Returns whether a handler requests input from the client instead of returning a result. */
export function isInputRequired(outcome: unknown): outcome is McpInputRequired {
  return (outcome as { resultType?: unknown } | null)?.resultType === 'input_required'
}
