import type { IncomingMessage } from 'node:http'
import { isJsonContentType } from '@modelcontextprotocol/server'

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: number; readonly code: number; readonly message: string }

/**
 * The JSON body of a request. The SDK would read it too, but would put replacement characters where bytes are not UTF-8;
 * here that is the parse error which it is. Nothing over the limit is kept.
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  if (!isJsonContentType(request.headers['content-type'] ?? null)) {
    return refused(415, -32_000, 'Unsupported Media Type: Content-Type must be application/json')
  }
  const tooLarge = refused(413, -32_000, `the body has more than ${maxBytes} bytes`)
  if (Number(request.headers['content-length']) > maxBytes) return tooLarge
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) return tooLarge
    chunks.push(chunk)
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return refused(400, -32_700, 'Parse error: the body is not JSON in UTF-8')
  }
}

function refused(status: number, code: number, message: string): JsonBody {
  return { ok: false, status, code, message }
}
