import type { McpExposure } from '@svc/plugin-sdk'

/** How tools of the orchestrator appear over MCP: in the envelope of results, in the product's lane `ai`. */
export function tool(
  name: string,
  more: Pick<McpExposure, 'title' | 'aliases' | 'meta' | 'readRole' | 'lane'> = {}
): McpExposure {
  return { name: `svc_${name}`, result: 'tool-result', lane: 'ai', ...more }
}
