import type { UnitView } from '@svc/contracts'
import type { McpCatalog } from '../plugins/mcp/src/catalog.ts'
import { operationTool } from '../plugins/mcp/src/operation-tool.ts'
import type { ToolEntry } from '../plugins/mcp/src/tool.ts'
import { toolsetTools } from '../plugins/mcp/src/toolset-tools.ts'
import { DEFAULT_TOOLSET, toolsetsOf } from '../plugins/mcp/src/toolsets.ts'
import { ownManifests } from './docs.ts'

export { DEFAULT_TOOLSET, toolsetsOf }

/** Tool of this repository as a client sees it. `declared`: false if its operation names no toolset. */
export interface OwnTool extends ToolEntry {
  readonly declared: boolean
}

/** Returns the MCP tools that the plugins of this repository declare as operations, and those of the plugin mcp. */
export async function ownTools(): Promise<readonly OwnTool[]> {
  const declared = (await ownManifests()).flatMap(({ name, operations }) =>
    operations.flatMap(descriptor => {
      const { mcp } = descriptor.expose
      if (!mcp) return []
      const tool = operationTool({ descriptor, unit: { name } } as Parameters<typeof operationTool>[0])
      return { ...tool, declared: typeof mcp === 'object' && mcp.toolsets !== undefined }
    })
  )
  const own = toolsetTools({ name: 'mcp' } as UnitView, () => ({}) as McpCatalog)
  return [...declared, ...own.map(tool => ({ ...tool, declared: true }))]
}
