import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { mcpErrors } from './errors.ts'
import { failed } from './tool-result.ts'

/** Name pattern of this product's tools. */
const OWN = /^(?:svc_|task_status$)/

/**
 * Answers a call of an unknown tool. For a name of this product, the answer has the envelope of its tools. Throws the
 * protocol's error for any other name.
 */
export function unknownTool(name: string): CallToolResult {
  if (!OWN.test(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`)
  return failed(
    mcpErrors.create('MCP_TOOL_UNKNOWN', `unknown tool: ${name}`, {
      hint: 'tools/list names the tools that you may call; svc plugins list shows which plugins are active'
    })
  )
}
