import type { IncomingMessage } from 'node:http'
import { AccessTokens, type TokenBuckets } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { clientKey } from './client-key.ts'
import { OriginGuard } from './origin-guard.ts'
import { HOST_DENIED, HTTPS_REQUIRED, ORIGIN_DENIED, type Refusal, tooMany, UNAUTHORIZED } from './refusal.ts'
import type { Role } from './role.ts'

/** Part of the gateway that a request addresses; determines the checks. */
export type Zone =
  | 'tools'
  /** Files without project data: the page before a token is entered. */
  | 'page'
  | 'health'

export type Verdict = { readonly role: Role; readonly refusal: null } | { readonly refusal: Refusal }

const WRITE: Verdict = { role: 'write', refusal: null }
const READ: Verdict = { role: 'read', refusal: null }

/** Checks of a request before its body is read: origin, token, HTTPS, rate. */
export class Gate {
  readonly #tokens: AccessTokens
  /** Role of each token. */
  readonly #roles: readonly Role[]
  readonly #settings: Settings
  readonly #origins: OriginGuard
  readonly #buckets: TokenBuckets

  /** Throws `GWY_ORIGIN_INVALID` for an invalid entry of `allowed_origins`. */
  constructor(settings: Settings, buckets: TokenBuckets) {
    const { bearer_token: write, read_bearer_token: read } = settings
    const tokens = [...(write === undefined ? [] : [write]), ...(read === undefined ? [] : [read])]
    this.#roles = [...(write === undefined ? [] : ['write' as const]), ...(read === undefined ? [] : ['read' as const])]
    this.#tokens = new AccessTokens(tokens, buckets.another())
    this.#settings = settings
    this.#origins = new OriginGuard(settings.host, settings.allowed_origins)
    this.#buckets = buckets
  }

  /** True if callers must present a token. */
  get requiresToken(): boolean {
    return this.#roles.length > 0
  }

  check(request: IncomingMessage, zone: Zone): Verdict {
    // The response to a health probe contains no data, so pages of any origin may read it.
    const origin = this.#checkOrigin(request, zone === 'health')
    if (origin !== null) return { refusal: origin }
    const role = this.#roleOf(request)
    const { health_auth, mobile_auth } = this.#settings
    const needsRole = zone === 'tools' || (zone === 'health' ? health_auth : mobile_auth)
    if (typeof role === 'object' && needsRole) return { refusal: role }
    const refusal = this.#checkTransport(request, zone)
    if (refusal !== null) return { refusal }
    return role === 'write' ? WRITE : READ
  }

  /**
   * Checks a websocket handshake. The role is null if the first message must contain the token: a page cannot set the
   * header. A client without an Origin header must send the token in the header.
   */
  checkUpgrade(request: IncomingMessage): { readonly role: Role | null; readonly refusal: Refusal | null } {
    const refused = (refusal: Refusal) => ({ role: null, refusal })
    const origin = this.#checkOrigin(request)
    if (origin !== null) return refused(origin)
    const headerRole = this.#roleOfHeader(request)
    const isAbsent = typeof headerRole === 'object'
    if (request.headers.origin === undefined && isAbsent)
      return refused(headerRole === UNAUTHORIZED ? ORIGIN_DENIED : headerRole)
    const refusal = this.#checkTransport(request, 'tools')
    if (refusal !== null) return refused(refusal)
    return { role: !this.requiresToken ? 'write' : isAbsent ? null : headerRole, refusal: null }
  }

  client(request: IncomingMessage): string {
    return clientKey(request, this.#settings.trust_x_forwarded_for)
  }

  /** Returns whether a message of a client is within its rate limit. */
  admitsMessage(client: string): boolean {
    return this.#buckets.take(client) === 0
  }

  get perMinute(): number {
    return this.#buckets.perMinute
  }

  #checkOrigin({ headers: { host, origin } }: IncomingMessage, anyOrigin = false): Refusal | null {
    if (!this.#origins.admitsHost(host)) return HOST_DENIED
    return anyOrigin || origin === undefined || this.#origins.admitsOrigin(origin, host) ? null : ORIGIN_DENIED
  }

  /** Returns the role for a token of a client, or the refusal. */
  roleOfToken(token: string, client: string): Role | Refusal {
    const { index, waitMs } = this.#tokens.check(token, client)
    const role = index === null ? undefined : this.#roles[index]
    if (role !== undefined) return role
    return waitMs === 0 ? UNAUTHORIZED : tooMany(this.#tokens.perMinute, waitMs)
  }

  #roleOf(request: IncomingMessage): Role | Refusal {
    return this.requiresToken ? this.#roleOfHeader(request) : 'write'
  }

  /** The scheme is case-insensitive (RFC 9110, 11.1). */
  #roleOfHeader(request: IncomingMessage): Role | Refusal {
    const { authorization } = request.headers
    const token = authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
    return token === undefined ? UNAUTHORIZED : this.roleOfToken(token, this.client(request))
  }

  #checkTransport(request: IncomingMessage, zone: Zone): Refusal | null {
    if (this.#settings.require_forwarded_https && zone !== 'health' && !isForwardedHttps(request)) return HTTPS_REQUIRED
    const wait = this.#buckets.take(this.client(request))
    return wait === 0 ? null : tooMany(this.#buckets.perMinute, wait)
  }
}

function isForwardedHttps({ headers }: IncomingMessage): boolean {
  const [first = ''] = String(headers['x-forwarded-proto'] ?? '').split(',', 1)
  return first.trim().toLowerCase() === 'https'
}
