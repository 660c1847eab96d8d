import type { IncomingMessage } from 'node:http'
import { readJsonRequest } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly status: number
      /** JSON-RPC code. */
      readonly code: number
      /** Code of svc, for the access record. */
      readonly reason: string
      readonly message: string
    }

/** JSON-RPC codes of body errors; other errors have -32000 and an HTTP status. */
const RPC_CODES: Readonly<Record<string, number>> = { HTTP_BODY_INVALID: -32_700, HTTP_BODY_NOT_UTF8: -32_700 }

/** Reads a POST body as strict JSON. The SDK would accept duplicate keys, and replace invalid UTF-8. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  try {
    const value = await readJsonRequest(request, { maxBytes, mediaType: 'json' })
    if (value !== undefined) return { ok: true, value }
    const message = 'Parse error: the body is empty'
    return { ok: false, status: 400, code: -32_700, reason: 'HTTP_BODY_INVALID', message }
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, status, message } = error
    const rpcCode = RPC_CODES[code]
    const text = rpcCode === undefined ? message : `Parse error: ${message}`
    return { ok: false, status, code: rpcCode ?? -32_000, reason: code, message: text }
  }
}
