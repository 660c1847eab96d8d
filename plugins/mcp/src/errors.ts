import { errorTable } from '@svc/plugin-sdk'

/** Codes of the MCP plugin. */
export const mcpErrors = errorTable({
  MCP_TOOL_CONFLICT: { message: 'An operation and a raw tool have one tool name.', status: 409 },
  MCP_TOOL_NAME_INVALID: { message: 'A tool name has characters or a length that MCP does not allow.' },
  MCP_SCHEMA_INVALID: { message: 'A schema of a raw tool cannot be compiled or does not describe an object.' },
  MCP_TEMPLATE_INVALID: { message: 'A resource template is not a URI template.' }
})
