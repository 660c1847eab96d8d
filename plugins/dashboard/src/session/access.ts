import type { IncomingMessage } from 'node:http'
import { hostName, isLoopback } from '@svc/contracts'
import { dashboardErrors } from '../errors.ts'
import type { Session, Sessions } from './sessions.ts'

/** Header with the half of the sign-in that only pages of this origin can read. */
const TOKEN_HEADER = 'x-svc-token'

/** Maximum number of cookies of the console's name that are tried. */
const MAX_COOKIES = 8

const SIGN_IN = 'run svc dashboard, and open the address that it prints'

/**
 * Checks who sends a request. Reads of the API need four facts: the transport is safe, a page of this origin sent the
 * request, and the cookie and the token belong to one session.
 */
export class Access {
  readonly #sessions: Sessions
  readonly #publicHost: string | null

  /** `publicUrl`: checked address behind a proxy, or null. */
  constructor(sessions: Sessions, publicUrl: URL | null) {
    this.#sessions = sessions
    this.#publicHost = publicUrl?.protocol === 'https:' ? publicUrl.host.toLowerCase() : null
  }

  get cookieName(): string {
    return `svc_ui_${this.#sessions.install}`
  }

  /**
   * Throws `DSH_TRANSPORT_INSECURE` if the request crossed a network without TLS. Safe are requests for a loopback name
   * without a proxy, as a browser on this machine or through an SSH tunnel sends them, and requests for the public
   * address through a proxy with TLS. Returns the origin of the console for this request.
   */
  originOf(request: IncomingMessage): string {
    const { headers } = request
    const host = (headers.host ?? '').toLowerCase()
    const isProxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
    if (host === this.#publicHost) {
      const scheme = String(headers['x-forwarded-proto'] ?? '').toLowerCase()
      const isLocalProxy = scheme === '' && isLoopback(request.socket.remoteAddress ?? '')
      if (scheme === 'https' || isLocalProxy) return `https://${host}`
    } else if (isLoopback(hostName(host)) && !isProxied) return `http://${host}`
    throw dashboardErrors.create(
      'DSH_TRANSPORT_INSECURE',
      `the console does not serve ${host}: over a network it needs TLS, and plugins.dashboard.public_url`,
      { hint: 'forward the port, ssh -L 3847:127.0.0.1:3847 HOST, or set up a proxy with TLS and public_url' }
    )
  }

  /** Returns whether a cookie for the request must be `Secure`. */
  isSecure(request: IncomingMessage): boolean {
    return this.originOf(request).startsWith('https:')
  }

  /** Returns the session of a request to the API. Throws `DSH_SESSION_REQUIRED` or `DSH_TRANSPORT_INSECURE`. */
  sessionOf(request: IncomingMessage): Session {
    this.#checkOrigin(request)
    const token = request.headers[TOKEN_HEADER]
    const session = typeof token === 'string' ? this.#ofBoth(request, token) : null
    if (session === null) throw signedOut('the request has no valid cookie and token of a session')
    return session
  }

  /**
   * Returns the session of a websocket handshake by its cookie. The token follows in the first message, since a browser
   * cannot send headers with a handshake. Throws `DSH_SESSION_REQUIRED` or `DSH_TRANSPORT_INSECURE`.
   */
  sessionOfHandshake(request: IncomingMessage): Session {
    const own = this.originOf(request)
    if (request.headers.origin !== own) throw signedOut('the handshake does not come from a page of the console')
    const session = firstOf(this.#cookiesOf(request), cookie => this.#sessions.ofCookie(cookie))
    if (session === null) throw signedOut('the handshake has no valid cookie of a session')
    return session
  }

  /** Returns the session if the token of the first message belongs to the cookie of the handshake; else null. */
  confirmHandshake(request: IncomingMessage, token: string): Session | null {
    return this.#ofBoth(request, token)
  }

  /** Throws `DSH_SESSION_REQUIRED` if a page of another origin sent the request. A program sends no Origin. */
  checkNotForeign(request: IncomingMessage): void {
    const { origin } = request.headers
    if (origin === undefined || origin === this.originOf(request)) return
    throw signedOut('the request comes from a page of another origin')
  }

  /** A missing Origin passes the guard of the listener, which programs need; here a browser must vouch for the page. */
  #checkOrigin(request: IncomingMessage): void {
    const own = this.originOf(request)
    const { origin, 'sec-fetch-site': site } = request.headers
    const isOwn = origin === undefined ? site === 'same-origin' : origin === own
    if (isOwn && (site === undefined || site === 'same-origin')) return
    throw signedOut('the request does not come from a page of the console')
  }

  #ofBoth(request: IncomingMessage, token: string): Session | null {
    return firstOf(this.#cookiesOf(request), cookie => this.#sessions.ofBoth(cookie, token))
  }

  /** Returns all cookies of the name: an app on another port can plant one with a narrower path, which is sent first. */
  #cookiesOf(request: IncomingMessage): readonly string[] {
    const prefix = `${this.cookieName}=`
    const parts = (request.headers.cookie ?? '').split(';').map(part => part.trim())
    const found = parts.filter(part => part.startsWith(prefix)).map(part => part.slice(prefix.length))
    return found.slice(0, MAX_COOKIES)
  }
}

function firstOf(cookies: readonly string[], find: (cookie: string) => Session | null): Session | null {
  for (const cookie of cookies) {
    const session = find(cookie)
    if (session !== null) return session
  }
  return null
}

function signedOut(message: string): Error {
  return dashboardErrors.create('DSH_SESSION_REQUIRED', message, { hint: SIGN_IN })
}

/** Returns the parsed setting. Throws `DSH_PUBLIC_URL_INVALID`. */
export function parsePublicUrl(text: string | undefined): URL | null {
  if (text === undefined) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isBare = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url !== null && isBare && isSafe) return url
  throw dashboardErrors.create(
    'DSH_PUBLIC_URL_INVALID',
    'plugins.dashboard.public_url is not an https address without a path',
    { at: { path: 'plugins.dashboard.public_url' }, hint: 'write it like https://svc.example.org' }
  )
}
