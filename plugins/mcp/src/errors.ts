import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the MCP plugin. */
export const mcpErrors = errorTable({
  MCP_TOOL_CONFLICT: { message: 'Two tools share a name or alias.', status: 409 },
  MCP_TOOL_UNKNOWN: { message: 'No tool has that name, or the caller may not use it.', status: 404 },
  MCP_TOOLSET_UNKNOWN: { message: 'No tool belongs to that toolset.', status: 404 },
  MCP_TOOL_CHOICE_INVALID: { message: 'A parameter of the URL that chooses tools has an unknown value.', status: 400 },
  MCP_ARGUMENTS_INVALID: { message: 'The arguments of a tool do not match its schema.', status: 400 },
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
