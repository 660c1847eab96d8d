import type { CallToolResult, InputRequiredResult, JSONObject, Tool } from '@modelcontextprotocol/server'
import type { McpClientCapabilities, UnitView } from '@svc/contracts'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { Guarded } from './principal.ts'
import type { ToolCall } from './tool-call.ts'

/** Tool of the catalog, independent of its implementation. */
export interface ToolEntry extends Guarded {
  readonly name: string
  readonly unit: UnitView
  /** Entry in `tools/list`. */
  readonly listing: Tool
  /** Aliases, which are callable but not listed. */
  readonly aliases: readonly string[]
  readonly lane: string | null
  readonly tier: string
  /** True if callers with the gateway's read role may use it. */
  readonly readRole: boolean
  readonly requires: McpClientCapabilities
  available(): boolean
  /** Runs the tool. A failure resolves to a result with `isError`. */
  run(args: Record<string, unknown>, call: ToolCall): Promise<CallToolResult | InputRequiredResult>
}

/** Returns the schema with type `object`, which MCP requires at the root of a tool's input. */
export function objectSchema(schema: Readonly<Record<string, unknown>>): Tool['inputSchema'] {
  return (schema.type === 'object' ? schema : { ...schema, type: 'object' }) as Tool['inputSchema']
}

/** Converts an error to a result: code, message and next step as text for a model, and in `_meta` for programs. */
export function errorResult(error: unknown): CallToolResult {
  const known = isSvcError(error) ? error : null
  const message = error instanceof Error ? error.message : String(error)
  const text =
    known === null ? message : `${known.code}: ${message}${known.hint === undefined ? '' : `\nHint: ${known.hint}`}`
  return {
    content: [{ type: 'text', text }],
    isError: true,
    ...(known === null ? {} : { _meta: { 'svc/error': errorFacts(known) } })
  }
}

export function errorFacts(error: SvcError): JSONObject {
  const { code, message, status, hint, data } = error
  return {
    code,
    message,
    status,
    ...(hint === undefined ? {} : { hint }),
    ...(data === undefined ? {} : { data: data as JSONObject })
  }
}
