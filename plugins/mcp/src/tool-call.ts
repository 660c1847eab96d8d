import type { InputRequiredResult } from '@modelcontextprotocol/server'
import type { McpCall, McpInputRequired } from '@svc/contracts'

/** A call of a tool over any surface. */
export interface ToolCall extends McpCall {
  /** Whether the client has left. */
  readonly cancelled: boolean
  /** The wire form of what a tool needs from its client. Rejects where there is no client that could be asked. */
  seal(required: McpInputRequired): Promise<InputRequiredResult>
}
