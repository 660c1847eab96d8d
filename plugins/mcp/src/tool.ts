import type { CallToolResult, InputRequiredResult, JSONObject, Tool } from '@modelcontextprotocol/server'
import type { McpClientCapabilities, UnitView } from '@svc/contracts'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { Guarded } from './principal.ts'
import type { ToolCall } from './tool-call.ts'

/** A tool as the server deals with it, whatever stands behind it. */
export interface ToolEntry extends Guarded {
  readonly name: string
  readonly unit: UnitView
  /** As `tools/list` shows it. */
  readonly listing: Tool
  /** Further names that are answered and not listed. */
  readonly aliases: readonly string[]
  readonly lane: string | null
  readonly tier: string
  /** Whether a caller with the gateway's read role may have it. */
  readonly readRole: boolean
  readonly requires: McpClientCapabilities
  available(): boolean
  /** Never rejects for what the tool itself does: failures are results with `isError`. */
  run(args: Record<string, unknown>, call: ToolCall): Promise<CallToolResult | InputRequiredResult>
}

/** MCP wants an object schema at the root of a tool's input. */
export function objectSchema(schema: Readonly<Record<string, unknown>>): Tool['inputSchema'] {
  return (schema.type === 'object' ? schema : { ...schema, type: 'object' }) as Tool['inputSchema']
}

/** Makes the result of an error: code, message and next step for a model; `_meta` has them for programs. */
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
