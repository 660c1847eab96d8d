import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type HttpExchange, httpBodyErrors, parseJsonBody } from '@svc/contracts'

export function sendJson(exchange: HttpExchange, body: unknown, status = 200): void {
  exchange.send(status, 'application/json; charset=utf-8', JSON.stringify(body))
}

const compress = promisify(gzip)

/** Sends a large description, compressed if the client accepts that. Not for texts with secrets (BREACH). */
export async function sendCompressedJson(exchange: HttpExchange, body: unknown): Promise<void> {
  const type = 'application/json; charset=utf-8'
  const text = JSON.stringify(body)
  const headers = { vary: 'accept-encoding' }
  if (!/\bgzip\b/.test(String(exchange.request.headers['accept-encoding'] ?? ''))) {
    exchange.send(200, type, text, headers)
    return
  }
  exchange.send(200, type, await compress(text), { ...headers, 'content-encoding': 'gzip' })
}

/** Sends a response without a body. */
export function sendNothing(exchange: HttpExchange): void {
  exchange.stream().writeHead(204).end()
}

/** Parses the body of a request to the console's API. Throws `HTTP_BODY_INVALID` unless it is an object. */
export function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  const value = parseJsonBody(bytes)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw httpBodyErrors.create('HTTP_BODY_INVALID', 'the body is not a JSON object')
}
