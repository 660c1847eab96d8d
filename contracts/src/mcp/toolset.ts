import { service } from '@svc/plugin-sdk'
import type { McpPrincipal } from './caller.ts'

/** Every tool that MCP clients see, for another surface that offers the same: the gateway. Provided by the plugin `mcp`. */
export const mcpToolset = service<McpToolset>('mcp.toolset@1')

export interface McpToolset {
  /** Of the generation that serves now, sorted by name. */
  tools(principal: McpPrincipal): readonly McpToolListing[]
  /** The name under which a tool is listed, for a name or an alias of one; null where there is none. */
  canonical(name: string): string | null
  /**
   * The result as an MCP client gets it. Never rejects for what the tool does: failures have `isError`. Null where the principal
   * sees no tool of that name.
   */
  call(name: string, args: Readonly<Record<string, unknown>>, call: McpToolsetCall): Promise<McpToolsetResult | null>
  /** Called after the list may have changed. Ends with the function returned. */
  onChange(listener: () => void): () => void
}

export interface McpToolListing {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly readOnly: boolean
  readonly aliases: readonly string[]
  /** Product lane of the registry: ai, data, interop, app, platform, workflow. */
  readonly lane: string | null
  readonly tier: string
  /** Whether callers with the gateway's read role may have it. */
  readonly readRole: boolean
  readonly plugin: string
}

export interface McpToolsetCall {
  readonly principal: McpPrincipal
  readonly signal?: AbortSignal
  /** Whether the caller has left already; for a surface that makes its signal on first use. Without it the signal is checked. */
  readonly cancelled?: boolean
  readonly traceparent?: string
  readonly onProgress?: (done: number, total?: number, message?: string) => void
}

export interface McpToolsetResult {
  readonly content: readonly Readonly<Record<string, unknown>>[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}
