import { errorTable } from '@svc/plugin-sdk'

/** Errors of contributions to MCP; the plugin that speaks MCP has separate codes. */
export const mcpContributionErrors = errorTable({
  MCP_RESOURCE_NOT_FOUND: { message: 'No resource has that URI.', status: 404 }
})
