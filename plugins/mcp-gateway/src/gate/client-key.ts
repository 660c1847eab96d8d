import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/**
 * Returns the rate-limit key of a client: its IPv4 address, or the /64 prefix of its IPv6 address, since one client
 * often owns a whole /64.
 */
export function clientKey(request: IncomingMessage, trustForwarded: boolean): string {
  const forwarded = trustForwarded ? forwardedAddress(request.headers['x-forwarded-for']) : null
  return keyOf(forwarded ?? request.socket.remoteAddress ?? '')
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

function keyOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [bare = ''] = address.split('%', 1)
  const [head = '', tail] = bare.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  while (tail !== undefined && groups.length + after.length < 8) groups.push('0')
  const network = [...groups, ...after].slice(0, 4)
  return `${network.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
