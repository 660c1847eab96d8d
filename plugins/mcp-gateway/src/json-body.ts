import { type HttpExchange, isJsonMediaType, parseJsonBody } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { refusal } from './gate/refusal.ts'
import type { ToolArguments } from './tools/tool-dispatcher.ts'

/** Maximum bytes of a request body, and of a websocket message. */
export const MAX_BODY_BYTES = 262_144

export interface ToolCallBody {
  readonly name: string
  readonly args: ToolArguments
}

/** Reads the body of a call and passes it to `take`, or responds with 400, 413 or 415. */
export function readToolCall(exchange: HttpExchange, onCall: (call: ToolCallBody) => void): void {
  const { headers } = exchange.request
  const refuse = (status: number, error: string): void => {
    const { code, body } = refusal('GWY_REQUEST_INVALID', status, error)
    exchange.caller.recordError?.(code)
    exchange.send(status, 'application/json; charset=utf-8', body)
  }
  if (!isJsonMediaType(headers['content-type'])) {
    exchange.request.resume()
    refuse(415, 'the body has to be JSON, with content-type: application/json')
    return
  }
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    exchange.request.resume()
    refuse(413, `the body is larger than the limit of ${MAX_BODY_BYTES} bytes`)
    return
  }
  exchange.body(bytes => {
    const call = parseToolCall(bytes)
    if (typeof call === 'string') refuse(400, call)
    else onCall(call)
  }, MAX_BODY_BYTES)
}

/** Returns the call, or the error of the body. */
function parseToolCall(bytes: Uint8Array): ToolCallBody | string {
  let body: unknown
  try {
    body = parseJsonBody(bytes)
  } catch (error) {
    return errorMessage(error)
  }
  if (body === undefined) return 'the body is empty, not JSON'
  if (!isObject(body)) return 'the body has to be an object: {"name": TOOL, "args": {…}}'
  return toolCallOf(body)
}

/** Returns the call of a parsed object, or its error. */
export function toolCallOf({ name, args = {} }: Readonly<Record<string, unknown>>): ToolCallBody | string {
  if (typeof name !== 'string' || name === '') return 'missing tool name'
  if (args !== null && !isObject(args)) return 'args has to be an object'
  return { name, args: args ?? {} }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
