import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the MCP plugin. */
export const mcpErrors = errorTable({
  MCP_TOOL_CONFLICT: { message: 'Two tools share a name or alias.', status: 409 },
  MCP_TOOL_UNKNOWN: { message: 'No tool has that name, or the caller may not use it.', status: 404 },
  MCP_TOOL_NAME_INVALID: { message: 'A tool name has characters or a length that MCP does not allow.' },
  MCP_SCHEMA_INVALID: { message: 'A schema of a raw tool is not a valid JSON Schema.' },
  MCP_CLIENT_NEEDED: {
    message: 'A tool requests input, but the surface has no client that can provide it.',
    status: 422
  },
  MCP_TOOL_FAILED: { message: 'A tool failed without an error code.' },
  MCP_REQUEST_REJECTED: { message: 'The request does not follow the protocol.', status: 400 },
  MCP_SDK_UNAVAILABLE: { message: 'The MCP SDK cannot be loaded.' },
  MCP_TEMPLATE_INVALID: { message: 'A resource template is not a URI template.' }
})
