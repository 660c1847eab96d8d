import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { mcpErrors } from './errors.ts'
import { failed } from './tool-result.ts'

/** Name pattern of svc's own tools. */
const OWN = /^(?:svc_|task_status$)/

/**
 * Returns the result of calling an unknown tool. If the name matches svc's own tools, the result uses their envelope.
 * Throws the protocol's error for any other name.
 */
export function unknownTool(name: string, requestId: string): CallToolResult {
  if (!OWN.test(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`)
  return failed(
    mcpErrors.create('MCP_TOOL_UNKNOWN', `unknown tool: ${name}`, {
      hint: 'tools/list shows the tools that you may call; svc plugins list shows which plugins are active'
    }),
    requestId
  )
}
