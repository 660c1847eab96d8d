import { isIP } from 'node:net'
import { hostName, isLoopback } from '@svc/contracts'
import { gatewayErrors } from '../errors.ts'

/** Origins of pages on this machine, with any port. */
const LOCAL_ORIGIN = /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i

/**
 * Guard against requests from pages of other origins, including DNS rebinding.
 */
export class OriginGuard {
  readonly #loopback: boolean
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>

  /** `host`: the bind address. Throws `GWY_ORIGIN_INVALID`. */
  constructor(host: string, origins: readonly string[]) {
    const parsed = origins.map(parseOrigin)
    this.#loopback = isLoopback(host)
    this.#hosts = new Set([
      host.toLowerCase(),
      ...parsed.map(({ host }) => host),
      ...parsed.map(({ hostname }) => hostname)
    ])
    this.#origins = new Set(parsed.map(({ origin }) => origin))
  }

  /** Returns whether a Host header is accepted. A server on loopback accepts only the names of this machine. */
  admitsHost(header: string | undefined): boolean {
    if (!this.#loopback) return true
    if (header === undefined) return false
    const name = hostName(header)
    return isLoopback(name) || this.#hosts.has(name)
  }

  /** Returns whether an Origin is accepted. `host`: the Host header. */
  admitsOrigin(origin: string, host: string | undefined): boolean {
    if (LOCAL_ORIGIN.test(origin) || this.#origins.has(origin.toLowerCase())) return true
    // The same origin with an IP address, which DNS rebinding cannot produce.
    return host !== undefined && isAddress(host) && (origin === `http://${host}` || origin === `https://${host}`)
  }
}

function parseOrigin(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === text.toLowerCase()) return url
  throw gatewayErrors.create(
    'GWY_ORIGIN_INVALID',
    `"${text}" in allowed_origins of [plugins.mcp-gateway] is not a web origin`,
    {
      at: { path: 'plugins.mcp-gateway.allowed_origins' },
      hint: 'write only scheme, host and port: https://svc.example.org'
    }
  )
}

function isAddress(host: string): boolean {
  const name = host.replace(/:\d+$/, '')
  return isIP(name) === 4 || (name.startsWith('[') && name.endsWith(']') && isIP(name.slice(1, -1)) === 6)
}
