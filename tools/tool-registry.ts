import { mcpToolName } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import { DEFAULT_LANE, DEFAULT_TIER } from '../plugins/mcp/src/operation-tool.ts'

const HEAD = `# Every MCP tool that the plugins of this repository declare. Made by \`npm run docs\` from their operations.
# http_read_role_eligible: whether a caller with the read role of the gateway may have it. aliases: answered, and not listed.
version: 1
`

/** The registry of tools, as YAML. */
export function renderToolRegistry(manifests: readonly PluginManifest[]): string {
  const tools = manifests
    .flatMap(({ operations }) => operations)
    .flatMap(descriptor => {
      const { mcp } = descriptor.expose
      if (!mcp) return []
      const { lane, tier, readRole, aliases = [] } = mcp === true ? {} : mcp
      return {
        name: mcpToolName(descriptor),
        description: descriptor.summary,
        product_lane: lane ?? DEFAULT_LANE,
        http_read_role_eligible: readRole ?? false,
        tier: tier ?? DEFAULT_TIER,
        ...(aliases.length === 0 ? {} : { aliases })
      }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  // JSON is YAML, also where a text has a colon or a quotation mark in it.
  const entries = tools.map(tool =>
    Object.entries(tool)
      .map(([key, value], at) => `${at === 0 ? '  - ' : '    '}${key}: ${JSON.stringify(value)}`)
      .join('\n')
  )
  return `${HEAD}tools:\n${entries.join('\n')}\n`
}
