import type { McpExposure } from '@svc/plugin-sdk'

/** Returns the MCP exposure of a reward tool, whose older name begins with `ludus`. */
export function gamifyTool(name: string, use: string): McpExposure {
  return { ...rewardTool(`gamify_${name}`, use), aliases: [`svc_ludus_${name}`] }
}

export function rewardTool(name: string, use: string): McpExposure {
  return { name: `svc_${name}`, result: 'tool-result', lane: 'ai', toolsets: ['reward'], use }
}
