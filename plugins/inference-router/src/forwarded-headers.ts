import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { HttpCaller } from '@svc/contracts'

/** Headers of a client that are sent to a server. Others could hold a secret of the client, such as its token. */
const TO_SERVER = ['accept', 'accept-encoding', 'accept-language', 'content-type', 'tracestate', 'user-agent']

/**
 * Headers of a server that the client does not receive: those of the connection (RFC 9110, 7.6.1), those that the router
 * sets itself, and cookies.
 */
const NOT_TO_CLIENT = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'te',
  'traceparent',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
  'x-svc-server'
])

export function headersToServer(
  { headers }: IncomingMessage,
  caller: Pick<HttpCaller, 'requestId' | 'traceparent'>,
  apiKey: string | undefined
): Record<string, string> {
  const sent: Record<string, string> = { 'content-type': 'application/json', 'x-request-id': caller.requestId }
  for (const name of TO_SERVER) {
    const value = headers[name]
    if (typeof value === 'string') sent[name] = value
  }
  if (caller.traceparent !== undefined) sent.traceparent = caller.traceparent
  if (apiKey !== undefined) sent.authorization = `Bearer ${apiKey}`
  return sent
}

export function headersToClient({ headers }: IncomingMessage, server: string): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map(name => name.trim().toLowerCase()))
  const sent: OutgoingHttpHeaders = { 'x-svc-server': server }
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_TO_CLIENT.has(name) && !named.has(name)) sent[name] = value
  }
  return sent
}
