import type { McpExposure, RpcExposure } from '@svc/plugin-sdk'

/** Returns the MCP exposure of an orchestrator tool: results in the envelope, product lane `ai`. */
export function tool(name: string, more: Omit<McpExposure, 'name' | 'result'> = {}): McpExposure {
  return { name: `svc_${name}`, result: 'tool-result', lane: 'ai', ...more }
}

/** Returns the RPC exposure with aliases of the daemon's protocol. They ignore unknown params of other versions. */
export function method(...names: readonly string[]): RpcExposure {
  return { aliases: names.map(name => ({ name: `orch.${name}`, unknownParams: 'ignore' })) }
}
