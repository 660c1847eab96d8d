import type { McpExposure, RpcExposure } from '@svc/plugin-sdk'

/** How tools of the orchestrator appear over MCP: in the envelope of results, in the product's lane `ai`. */
export function tool(
  name: string,
  more: Pick<McpExposure, 'title' | 'aliases' | 'meta' | 'readRole' | 'lane' | 'answer'> = {}
): McpExposure {
  return { name: `svc_${name}`, result: 'tool-result', lane: 'ai', ...more }
}

/** A method with its names in the daemon's protocol, whose peers may be of another version. */
export function method(...names: readonly string[]): RpcExposure {
  return { aliases: names.map(name => ({ name: `orch.${name}`, unknownParams: 'ignore' })) }
}
