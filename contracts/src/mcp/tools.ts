import { type Infer, type JsonSchema, mcpToolName, point, type SchemaLike, toJsonSchema } from '@svc/plugin-sdk'
import type { McpCall, McpClientCapabilities } from './call.ts'
import type { McpContent, McpIcon } from './content.ts'
import type { McpInputRequired } from './input-required.ts'

export { mcpToolName }

/**
 * Tools that need features of MCP itself: images and audio, questions to the user, sampling. For a tool that maps JSON
 * to JSON, declare an operation with `expose.mcp` instead; it can be available on other surfaces, too.
 */
export const mcpTools = point<McpTool>('mcp.tools', { keys: item => [item.name] })

export interface McpTool {
  /** 1 to 128 characters from `A-Za-z0-9_.-`. */
  readonly name: string
  readonly title?: string
  readonly description: string
  /** Object schema of the arguments; they are validated before `call`. */
  readonly input: JsonSchema
  /** Schema of `structuredContent`, which a successful result must then have. */
  readonly output?: JsonSchema
  readonly hints?: McpToolHints
  /** Toolsets that the tool belongs to. Default: `default` and the name of the plugin. */
  readonly toolsets?: readonly string[]
  readonly icons?: readonly McpIcon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** Scopes that the caller must hold to see and call the tool. */
  readonly scopes?: readonly string[]
  /** If the client lacks one of these, the call fails with `MissingRequiredClientCapability`. */
  readonly requires?: McpClientCapabilities
  /** Returns whether the tool is available now; trigger {@link mcpChanged} when that changes. Default: always. */
  available?(): boolean
  /** Runs the tool. A thrown error becomes a result with `isError`, and the client sees its message. */
  call(args: Readonly<Record<string, unknown>>, call: McpCall): McpToolOutcome | Promise<McpToolOutcome>
}

export interface McpToolHints {
  /** Whether the tool changes nothing. A caller with the `read` role sees only read-only tools. */
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  /** Whether the tool reaches beyond this project, for example to the web. */
  readonly openWorld?: boolean
}

export interface McpToolResult {
  readonly content: readonly McpContent[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}

export type McpToolOutcome = McpToolResult | McpInputRequired

/** Infers the argument types of a raw tool from its schema. */
export function defineMcpTool<S extends SchemaLike>(
  tool: Omit<McpTool, 'input' | 'call'> & {
    readonly input: S
    call(args: Infer<S>, call: McpCall): McpToolOutcome | Promise<McpToolOutcome>
  }
): McpTool {
  const { input, call } = tool
  return { ...tool, input: toJsonSchema(input), call: (args, context) => call(args as Infer<S>, context) }
}
