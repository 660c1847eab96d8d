import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { isSvcError, type JsonSchema, type McpExposure } from '@svc/plugin-sdk'
import { errorDetails } from './tool.ts'

/** Envelope of tools with `result: 'tool-result'`, for successes and failures. */
export interface ToolResult {
  readonly success: boolean
  readonly data?: unknown
  readonly error?: string
  readonly remediation?: string
  readonly meta?: Readonly<Record<string, unknown>>
}

const FAILED_META = { type: 'object', description: 'Code, status, request id and data of a failure.' }

/** Returns the schema of {@link ToolResult} for an operation's output. */
export function toolResultSchema(output: JsonSchema, { meta, answer }: McpExposure): NonNullable<Tool['outputSchema']> {
  const { $defs, ...data } = output as JsonSchema & { readonly $defs?: unknown }
  return {
    type: 'object',
    properties: {
      success: { type: 'boolean' },
      data: answer !== undefined ? fieldOf(data, answer) : meta !== undefined ? without(data, meta) : data,
      error: { type: 'string' },
      remediation: { type: 'string', description: 'How to fix the error.' },
      meta: FAILED_META
    },
    required: ['success'],
    additionalProperties: false,
    // References in the output schema are relative to the root, so its definitions move there.
    ...($defs === undefined ? {} : { $defs })
  } as NonNullable<Tool['outputSchema']>
}

/** Returns an output in the envelope. */
export function succeeded(output: unknown, { meta, answer }: McpExposure): CallToolResult {
  const fields = output as Readonly<Record<string, unknown>>
  if (meta === undefined) return resultOf({ success: true, data: answer === undefined ? output : fields[answer] })
  const { [meta]: metaValue, ...data } = fields
  return resultOf({
    success: true,
    data: answer === undefined ? data : fields[answer],
    ...(metaValue === undefined || metaValue === null ? {} : { meta: metaValue as Record<string, unknown> })
  })
}

/** Returns a failure in the envelope: message, hint as remediation; code, status, request id and data in `meta`. */
export function failed(error: unknown, requestId: string): CallToolResult {
  const known = isSvcError(error) ? error : null
  const message = error instanceof Error ? error.message : String(error)
  if (known === null) return resultOf({ success: false, error: message, meta: { request_id: requestId } })
  const { code, status, hint, data } = known
  return resultOf(
    {
      success: false,
      error: message,
      ...(hint === undefined ? {} : { remediation: hint }),
      meta: { code, status, request_id: requestId, ...(data === undefined ? {} : { data }) }
    },
    { 'svc/error': errorDetails(known, requestId) }
  )
}

/** Returns the result of an envelope. The text is created on first use: not every surface needs it. */
function resultOf(envelope: ToolResult, meta?: Record<string, unknown>): CallToolResult {
  return {
    get content() {
      return [{ type: 'text' as const, text: JSON.stringify(envelope, null, 2) }]
    },
    structuredContent: envelope as unknown as Record<string, unknown>,
    ...(envelope.success ? {} : { isError: true }),
    ...(meta === undefined ? {} : { _meta: meta })
  }
}

function fieldOf({ properties }: JsonSchema, field: string): unknown {
  return (properties as Readonly<Record<string, unknown>> | undefined)?.[field]
}

function without(schema: JsonSchema, field: string): JsonSchema {
  const {
    properties = {},
    required = [],
    ...rest
  } = schema as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  const { [field]: _taken, ...others } = properties
  return { ...rest, properties: others, required: required.filter(name => name !== field) } as JsonSchema
}
