import { errorTable } from '@svc/plugin-sdk'

/** What contributions to MCP fail with; the plugin that speaks MCP has codes of its own. */
export const mcpContributionErrors = errorTable({
  MCP_RESOURCE_NOT_FOUND: { message: 'No resource has that URI.', status: 404 }
})
