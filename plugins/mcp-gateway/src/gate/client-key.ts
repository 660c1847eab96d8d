import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { clientKeyOf } from '@svc/contracts'

/** Returns the rate-limit key of the client of a request. */
export function clientKey(request: IncomingMessage, trustForwarded: boolean): string {
  const forwarded = trustForwarded ? forwardedAddress(request.headers['x-forwarded-for']) : null
  return clientKeyOf(forwarded ?? request.socket.remoteAddress ?? '')
}

/** Returns the first address of the header; null if it is invalid. */
function forwardedAddress(header: string | string[] | undefined): string | null {
  const [first = ''] = String(header ?? '').split(',', 1)
  const text = first.trim()
  if (isIP(text) !== 0) return text
  // Some proxies add the port.
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? ''
  return isIP(address) === 0 ? null : address
}
