import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostName, isLoopback } from '@svc/contracts'
import { refuse } from './refusal.ts'

export interface HostGuardOptions {
  /** Address that the control plane binds. */
  readonly host: string
  readonly allowedHosts: readonly string[]
  /** False if every caller is accepted, because no token is configured. */
  readonly hasTokens: boolean
}

/**
 * Guard against web pages. A control plane has no pages, and programs send no Origin header, so every request with one is
 * refused. A page whose name resolves to this machine (DNS rebinding) sends its own name as Host: names are refused
 * unless they are allowed, or callers need a token, which the page does not know.
 */
export class HostGuard {
  readonly #anyName: boolean
  readonly #hosts: ReadonlySet<string>

  constructor({ host, allowedHosts, hasTokens }: HostGuardOptions) {
    this.#hosts = new Set([host, ...allowedHosts].map(each => each.toLowerCase()))
    this.#anyName = hasTokens && allowedHosts.length === 0 && !isLoopback(host)
  }

  /**
   * Throws `MSC_HOST_DENIED` or `MSC_ORIGIN_DENIED`. `isCheck`: a request without Host is admitted, since balancers check
   * with HTTP/1.0; browsers always send one.
   */
  admit({ headers: { host, origin } }: IncomingMessage, { isCheck = false } = {}): void {
    if (origin !== undefined) throw refuse('MSC_ORIGIN_DENIED', 'web pages may not call this control plane')
    if (isCheck && host === undefined) return
    if (host === undefined || host === '') throw refuse('MSC_HOST_DENIED', 'the request has no Host header')
    const name = hostName(host)
    const isKnown = this.#anyName || isLoopback(name) || isAddress(name) || this.#hosts.has(name)
    if (!isKnown)
      throw refuse(
        'MSC_HOST_DENIED',
        'this control plane does not serve that host; see allowed_hosts in [plugins.mesh-control]'
      )
  }
}

function isAddress(name: string): boolean {
  return isIP(name) === 4 || (name.startsWith('[') && name.endsWith(']') && isIP(name.slice(1, -1)) === 6)
}
