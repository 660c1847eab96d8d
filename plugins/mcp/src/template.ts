import { UriTemplate } from '@modelcontextprotocol/server'
import type { Contribution, McpResourceTemplate } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { mcpErrors } from './errors.ts'

/** Compiles a resource template. Throws `MCP_TEMPLATE_INVALID`. */
export function compileTemplate({ item, unit }: Contribution<McpResourceTemplate>): UriTemplate {
  try {
    return new UriTemplate(item.uriTemplate)
  } catch (cause) {
    throw mcpErrors.create(
      'MCP_TEMPLATE_INVALID',
      `${unit.name} offers the resource template ${item.uriTemplate}: ${errorMessage(cause)}`,
      { plugin: unit.name, cause }
    )
  }
}
