import { service } from '@svc/plugin-sdk'
import type { McpPrincipal } from './caller.ts'

/**
 * Every tool that MCP clients see, for another surface with the same tools: the gateway. Provided by the plugin `mcp`.
 */
export const mcpToolset = service<McpToolset>('mcp.toolset@1')

export interface McpToolset {
  /** Tools of the current generation, sorted by name. */
  tools(principal: McpPrincipal): readonly McpToolListing[]
  /** The listed name of a tool, for its name or an alias; null for an unknown one. */
  canonical(name: string): string | null
  /**
   * The result as an MCP client receives it. Never rejects if the tool fails: failures have `isError`. Null if the
   * principal sees no tool of that name.
   */
  call(name: string, args: Readonly<Record<string, unknown>>, call: McpToolsetCall): Promise<McpToolsetResult | null>
  /** Called after the list may have changed. The returned function ends it. */
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
  /** Whether callers with the gateway's read role may use it. */
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
