import { service } from '@svc/plugin-sdk'
import type { McpPrincipal } from './caller.ts'

/**
 * All tools that MCP clients see, for another surface that offers the same tools, such as the gateway. Provided by the
 * plugin `mcp`.
 */
export const mcpToolset = service<McpToolset>('mcp.toolset@1')

export interface McpToolset {
  /** Tools of the current generation, sorted by name. */
  tools(principal: McpPrincipal): readonly McpToolListing[]
  /** Returns the listed name of a tool for its name or an alias; null if unknown. */
  canonical(name: string): string | null
  /**
   * Calls a tool and returns the result as an MCP client receives it. A failed tool resolves to a result with
   * `isError`. Resolves to null if the principal sees no tool of that name.
   */
  call(name: string, args: Readonly<Record<string, unknown>>, call: McpToolsetCall): Promise<McpToolsetResult | null>
  /** Calls the listener after the list may have changed. Returns the unsubscribe function. */
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
  /** Toolsets that the tool belongs to. */
  readonly toolsets: readonly string[]
}

export interface McpToolsetCall {
  readonly principal: McpPrincipal
  readonly signal?: AbortSignal
  /**
   * Whether the caller has disconnected, for a surface that creates its signal lazily. Default: the signal is checked.
   */
  readonly cancelled?: boolean
  readonly traceparent?: string
  /** Request id of the caller, for log lines and errors. Default: a new one. */
  readonly requestId?: string
  readonly onProgress?: (done: number, total?: number, message?: string) => void
}

export interface McpToolsetResult {
  readonly content: readonly Readonly<Record<string, unknown>>[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}
