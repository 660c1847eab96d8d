import type { IncomingMessage, ServerResponse } from 'node:http'
import { AccessTokens, type HttpOrigins, hostName, isLoopback, type TokenBuckets } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { httpErrors } from './errors.ts'
import { OriginCheck } from './origin-check.ts'

export interface GuardSettings {
  /** Bind address of the listener. */
  readonly host: string
  readonly token?: string
  /** `token`: a caller without a token is refused, even on this machine. */
  readonly local_access: 'open' | 'token'
  readonly allowed_hosts: readonly string[]
  /** Null: pages of every origin may call, without CORS headers. */
  readonly origins: HttpOrigins | null
}

/** Principal of a caller on this machine if no token is set. */
const LOCAL: Principal = Object.freeze({ id: 'local', role: 'owner', scopes: Object.freeze(['*']) })
const BEARER: Principal = Object.freeze({ id: 'bearer', role: 'owner', scopes: Object.freeze(['*']) })
/** Principal of a remote caller if no token is set; may call only routes without a scope. */
export const ANONYMOUS: Principal = Object.freeze({ id: 'anonymous', role: 'anonymous', scopes: Object.freeze([]) })

/** Missing or wrong token. */
export interface RejectedToken {
  /** Milliseconds until another token of the address is accepted; 0 within the limit. */
  readonly waitMs: number
}

const NO_TOKEN: RejectedToken = { waitMs: 0 }

/** Access control of a listener: Host and Origin headers, against foreign browser pages, and the bearer token. */
export class Guard {
  readonly #loopback: boolean
  readonly #hosts: ReadonlySet<string>
  readonly #origins: OriginCheck | null
  readonly #tokens: AccessTokens | null
  readonly #requiresToken: boolean
  /** Last accepted Host header, and whether its name is known. Cached: nearly every request repeats it. */
  #lastHost: string | undefined
  #lastKnown = false

  /** `wrongTokens` outlives the guard, since each generation has a new guard. */
  constructor({ host, token, local_access, allowed_hosts, origins }: GuardSettings, wrongTokens: TokenBuckets) {
    this.#loopback = isLoopback(host)
    this.#hosts = new Set([host, ...allowed_hosts].map(each => each.toLowerCase()))
    this.#origins = origins === null ? null : new OriginCheck(origins)
    this.#tokens = token === undefined ? null : new AccessTokens([token], wrongTokens)
    this.#requiresToken = local_access === 'token'
  }

  /**
   * Checks Host and Origin against DNS rebinding and foreign pages, and sets CORS headers for configured origins.
   * Throws `HTTP_MALFORMED`, `HTTP_HOST_FORBIDDEN` or `HTTP_ORIGIN_FORBIDDEN`.
   */
  admit(request: IncomingMessage, response: ServerResponse | null): void {
    this.admitHost(request)
    this.admitOrigin(request, response)
  }

  /** Checks only the Origin header, and sets CORS headers. Throws `HTTP_ORIGIN_FORBIDDEN`. */
  admitOrigin(request: IncomingMessage, response: ServerResponse | null): void {
    this.#origins?.admit(request, response)
  }

  /** Checks only the Host header. Throws `HTTP_MALFORMED` or `HTTP_HOST_FORBIDDEN`. */
  admitHost({ headers: { host } }: IncomingMessage): void {
    if (host !== this.#lastHost || host === undefined) this.#checkHost(host)
  }

  /** Returns the caller, or the reason for which a required token is missing or wrong. */
  identify(request: IncomingMessage): Principal | RejectedToken {
    if (this.#tokens !== null) {
      const token = bearerToken(request.headers.authorization)
      if (token === undefined) return NO_TOKEN
      const check = this.#tokens.check(token, request.socket.remoteAddress ?? '')
      return check.index === null ? { waitMs: check.waitMs } : BEARER
    }
    if (this.#requiresToken) return NO_TOKEN
    // A request through a proxy is not local, even from a proxy on this machine.
    const proxied = request.headers['x-forwarded-for'] !== undefined || request.headers.forwarded !== undefined
    const { host = '' } = request.headers
    const known = host === this.#lastHost ? this.#lastKnown : this.#isKnown(hostName(host))
    if (proxied || !known) return ANONYMOUS
    return this.#loopback || isLoopbackAddress(request.socket.remoteAddress) ? LOCAL : ANONYMOUS
  }

  /** Returns the error for a request that {@link identify} rejected. */
  refuseToken({ waitMs }: RejectedToken): Error {
    if (waitMs > 0) {
      return httpErrors.create('HTTP_TOO_MANY_TOKENS', 'too many wrong bearer tokens came from this address', {
        data: { retryAfterMs: Math.ceil(waitMs) },
        hint: `wait; the limit is ${this.#tokens?.perMinute} wrong tokens per minute`
      })
    }
    return httpErrors.create('HTTP_UNAUTHORIZED', "the request does not have this server's bearer token", {
      hint: 'send the header "Authorization: Bearer TOKEN"'
    })
  }

  #checkHost(host: string | undefined): void {
    if (host === undefined) throw httpErrors.create('HTTP_MALFORMED', 'the request has no Host header')
    const name = hostName(host)
    const open = !this.#loopback && this.#hosts.size === 1
    const known = this.#isKnown(name)
    if (!open && !known) {
      throw httpErrors.create('HTTP_HOST_FORBIDDEN', `this server does not serve the host "${name}"`, {
        hint: 'add the name to allowed_hosts in [plugins.http]'
      })
    }
    this.#lastHost = host
    this.#lastKnown = known
  }

  /** Returns whether a foreign page cannot own the host name. DNS may point any other name at this machine. */
  #isKnown(name: string): boolean {
    return isLoopback(name) || this.#hosts.has(name)
  }
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && isLoopback(address)
}

/** Returns the token of an Authorization header. The scheme is case-insensitive (RFC 9110, 11.1). */
function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^bearer +(\S+)$/i.exec(header)?.[1]
}
