import type { IncomingMessage } from 'node:http'
import { A2A_CONTENT_TYPE, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk'
import type { HttpExchange } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { A2aCall } from './call.ts'
import { malformed } from './input.ts'

/** Maximum size of a request in bytes. */
export const MAX_REQUEST_BYTES = 1_048_576
const MAX_HEADER_CHARS = 4_096

/** Returns the call of a request. Throws `RequestMalformedError` for a malformed header. */
export function callOf({ request, caller }: HttpExchange, principal: Principal): A2aCall {
  return new A2aCall({
    principal,
    signal: caller.signal,
    base: baseOf(request),
    version: versionOf(request),
    extensions: listOf(headerOf(request, 'a2a-extensions') ?? headerOf(request, 'x-a2a-extensions')),
    lastEvent: lastEventOf(headerOf(request, 'last-event-id'))
  })
}

/**
 * Returns the protocol version of a request as MAJOR.MINOR: patch numbers do not count. Undefined if none was sent. Throws
 * `RequestMalformedError`.
 */
export function versionOf(request: IncomingMessage): string | undefined {
  return headerOf(request, 'a2a-version')?.replace(/^(\d+\.\d+)\.\d+$/, '$1')
}

/**
 * Returns the URL of the server as the client wrote it, from the Host header, which the listener checks. A proxy with TLS
 * needs `public_url`.
 */
export function baseOf({ headers: { host } }: IncomingMessage): string | undefined {
  return host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).origin : undefined
}

/** Returns the header that names the extensions that the call used. */
export function extensionHeaders({ activatedExtensions }: A2aCall): Record<string, string> {
  return activatedExtensions === undefined || activatedExtensions.length === 0
    ? {}
    : { [HTTP_EXTENSION_HEADER]: activatedExtensions.join(', ') }
}

/** Returns whether a body may be read as JSON: it is JSON, the protocol's own type, or has no type. */
export function isJsonBody(request: IncomingMessage, own: boolean): boolean {
  const { 'content-type': type } = request.headers
  if (type === undefined) return true
  const media = (type.split(';', 1)[0] as string).trim().toLowerCase()
  return media === 'application/json' || (own && media === A2A_CONTENT_TYPE)
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  const text = Array.isArray(value) ? value.join(',') : value
  if (text !== undefined && text.length > MAX_HEADER_CHARS) throw malformed(`the header ${name} is too long`)
  return text === undefined || text.trim() === '' ? undefined : text.trim()
}

function listOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : [...new Set(text.split(',').map(each => each.trim()))].filter(each => each !== '')
}

function lastEventOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw malformed('Last-Event-ID is not a number of an event of this server')
}
