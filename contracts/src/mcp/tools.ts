import { type Infer, type JsonSchema, mcpToolName, point, type SchemaLike, toJsonSchema } from '@svc/plugin-sdk'
import type { McpCall, McpClientCapabilities } from './call.ts'
import type { McpContent, McpIcon } from './content.ts'
import type { McpInputRequired } from './input-required.ts'

export { mcpToolName }

/**
 * Tools that speak MCP itself: images and audio, questions to the user, sampling. A tool that maps JSON to JSON is an
 * operation with `expose.mcp` instead, and is available on the other surfaces, too.
 */
export const mcpTools = point<McpTool>('mcp.tools', { keys: item => [item.name] })

export interface McpTool {
  /** 1 to 128 of `A-Za-z0-9_.-`. */
  readonly name: string
  readonly title?: string
  readonly description: string
  /** Object schema of the arguments; they are validated before `call`. */
  readonly input: JsonSchema
  /** Schema of `structuredContent`, which a successful result must then have. */
  readonly output?: JsonSchema
  readonly hints?: McpToolHints
  readonly icons?: readonly McpIcon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** Scopes that the caller must hold to see and call the tool. */
  readonly scopes?: readonly string[]
  /** Without these the call is refused with `MissingRequiredClientCapability`. */
  readonly requires?: McpClientCapabilities
  /** Whether the tool is available now; trigger {@link mcpChanged} when that changes. Default always. */
  available?(): boolean
  /** A throw becomes a result with `isError`; its message is shown to the client. */
  call(args: Readonly<Record<string, unknown>>, call: McpCall): McpToolOutcome | Promise<McpToolOutcome>
}

export interface McpToolHints {
  /** Changes nothing. A caller of the `read` role sees only tools that say so. */
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  /** Reaches beyond this project, for example to the web. */
  readonly openWorld?: boolean
}

export interface McpToolResult {
  readonly content: readonly McpContent[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}

export type McpToolOutcome = McpToolResult | McpInputRequired

/** Types the arguments of a raw tool by its schema. */
export function defineMcpTool<S extends SchemaLike>(
  tool: Omit<McpTool, 'input' | 'call'> & {
    readonly input: S
    call(args: Infer<S>, call: McpCall): McpToolOutcome | Promise<McpToolOutcome>
  }
): McpTool {
  const { input, call } = tool
  return { ...tool, input: toJsonSchema(input), call: (args, context) => call(args as Infer<S>, context) }
}
