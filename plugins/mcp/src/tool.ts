import type { CallToolResult, InputRequiredResult, JSONObject, Tool } from '@modelcontextprotocol/server'
import type { McpClientCapabilities, UnitView } from '@svc/contracts'
import { errorDocs, isSvcError, type SvcError } from '@svc/plugin-sdk'
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
  /** Toolsets that the tool belongs to. */
  readonly toolsets: readonly string[]
  readonly requires: McpClientCapabilities
  available(): boolean
  /** Runs the tool. A failure resolves to a result with `isError`. */
  run(args: Record<string, unknown>, call: ToolCall): Promise<CallToolResult | InputRequiredResult>
}

/** Receives calls of tools that succeeded. */
export type CallListener = (tool: ToolEntry, args: Readonly<Record<string, unknown>>) => void

/** Returns the schema with type `object`, which MCP requires at the root of a tool's input. */
export function objectSchema(schema: Readonly<Record<string, unknown>>): Tool['inputSchema'] {
  return (schema.type === 'object' ? schema : { ...schema, type: 'object' }) as Tool['inputSchema']
}

/**
 * Converts an error to a result: code, message and next step as text for a model, and in `_meta` for programs, with the
 * id of the request.
 */
export function errorResult(error: unknown, requestId: string): CallToolResult {
  const known = isSvcError(error) ? error : null
  const message = error instanceof Error ? error.message : String(error)
  const text =
    known === null ? message : `${known.code}: ${message}${known.hint === undefined ? '' : `\nHint: ${known.hint}`}`
  return {
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [ERROR_META]: known === null ? { message, request_id: requestId } : errorDetails(known, requestId) }
  }
}

/** Key of an error's details in `_meta` of a result. */
const ERROR_META = 'svc/error'

/** Adds the id of the request to the error details of a failed result. */
export function withRequestId(result: CallToolResult, requestId: string): CallToolResult {
  const details = (result._meta?.[ERROR_META] ?? {}) as JSONObject
  return { ...result, _meta: { ...result._meta, [ERROR_META]: { ...details, request_id: requestId } } }
}

/** Returns the error code of a failed result for the access record; null for any other result. */
export function errorCodeOf({ isError, _meta }: Pick<CallToolResult, 'isError' | '_meta'>): string | null {
  if (isError !== true) return null
  const { code } = (_meta?.[ERROR_META] ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'MCP_TOOL_FAILED'
}

export function errorDetails(error: SvcError, requestId: string): JSONObject {
  const { code, message, status, hint, data } = error
  const docs = errorDocs(error)
  return {
    code,
    message,
    status,
    request_id: requestId,
    ...(hint === undefined ? {} : { hint }),
    ...(data === undefined ? {} : { data: data as JSONObject }),
    ...(docs === undefined ? {} : { docs })
  }
}
