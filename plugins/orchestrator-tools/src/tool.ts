import type { McpExposure, RpcExposure } from '@svc/plugin-sdk'

/** How tools of the orchestrator appear over MCP: in the envelope of results, in the product's lane `ai`. */
export function tool(
  name: string,
  more: Pick<McpExposure, 'title' | 'aliases' | 'meta' | 'readRole' | 'lane' | 'answer'> = {}
): McpExposure {
  return { name: `svc_${name}`, result: 'tool-result', lane: 'ai', ...more }
}

/** A method of the daemon's protocol, by its name there; the operation's id and `more` are its aliases. */
export function method(name: string, id: string, ...more: readonly string[]): RpcExposure {
  return { name: `orch.${name}`, aliases: [...more, id], unknownParams: 'ignore' }
}
