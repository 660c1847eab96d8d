import type { IncomingMessage } from 'node:http'
import type { TokenBuckets } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { BearerTokens } from './bearer-tokens.ts'
import { clientKey } from './client-key.ts'
import { OriginGuard } from './origin-guard.ts'
import { HOST_DENIED, HTTPS_REQUIRED, ORIGIN_DENIED, type Refusal, tooMany, UNAUTHORIZED } from './refusal.ts'
import type { Role } from './role.ts'

/** Part of the gateway that a request addresses; determines the checks. */
export type Zone =
  | 'tools'
  /** Files without project data: the page before a token is entered. */
  | 'open'
  | 'health'

export type Verdict = { readonly role: Role; readonly refusal: null } | { readonly refusal: Refusal }

const WRITE: Verdict = { role: 'write', refusal: null }
const READ: Verdict = { role: 'read', refusal: null }

/** Checks of a request before its body is read: origin, token, HTTPS, rate. */
export class Gate {
  readonly tokens: BearerTokens
  readonly #settings: Settings
  readonly #origins: OriginGuard
  readonly #buckets: TokenBuckets
  /**
   * Rate limit for wrong tokens, against guessing. Callers with the right token at the same address are not affected.
   */
  readonly #guesses: TokenBuckets

  /** Throws `GWY_ORIGIN_INVALID` for an invalid entry of `allowed_origins`. */
  constructor(settings: Settings, buckets: TokenBuckets) {
    this.tokens = new BearerTokens(settings.bearer_token, settings.read_bearer_token)
    this.#settings = settings
    this.#origins = new OriginGuard(settings.host, settings.allowed_origins)
    this.#buckets = buckets
    this.#guesses = buckets.another()
  }

  check(request: IncomingMessage, zone: Zone): Verdict {
    // Health probes may come from anywhere, with any Host header; the response contains no data.
    const origin = zone === 'health' ? null : this.#checkOrigin(request)
    if (origin !== null) return { refusal: origin }
    const role = this.#roleOf(request)
    const asked = zone === 'tools' || (zone === 'health' && this.#settings.health_auth)
    if (role === null && asked) return { refusal: this.#turnAway(request) }
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
    const shown = this.tokens.roleOfHeader(request.headers.authorization)
    if (request.headers.origin === undefined && shown === null) return refused(ORIGIN_DENIED)
    const refusal = this.#checkTransport(request, 'tools')
    if (refusal !== null) return refused(refusal)
    return { role: this.tokens.required ? shown : 'write', refusal: null }
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

  #checkOrigin({ headers: { host, origin } }: IncomingMessage): Refusal | null {
    if (!this.#origins.admitsHost(host)) return HOST_DENIED
    return origin === undefined || this.#origins.admitsOrigin(origin, host) ? null : ORIGIN_DENIED
  }

  #roleOf({ headers }: IncomingMessage): Role | null {
    return this.tokens.required ? this.tokens.roleOfHeader(headers.authorization) : 'write'
  }

  #turnAway(request: IncomingMessage): Refusal {
    if (request.headers.authorization === undefined) return UNAUTHORIZED
    const wait = this.#guesses.take(this.client(request))
    return wait === 0 ? UNAUTHORIZED : tooMany(this.#guesses.perMinute, wait)
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
