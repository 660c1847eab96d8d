import type { IncomingHttpHeaders } from 'node:http'
import { hostName, isLoopback } from '@svc/contracts'
import { cookieOf } from '../../interpreter/request.ts'

/** Longest time for which browsers keep a cookie. The session, which each use extends, ends before. */
const MAX_AGE_S = 400 * 86_400

type Headers = Pick<IncomingHttpHeaders, 'host' | 'cookie'>

/**
 * Returns the token in the cookie of a request; undefined if there is none. The prefix `__Host-` lets only this origin
 * set the cookie, and only over TLS. On this machine, without TLS, its name is `vox`.
 */
export function sessionCookie(headers: Headers): string | undefined {
  return cookieOf(headers.cookie, nameFor(headers))
}

/** Returns the header `Set-Cookie` that starts a session. */
export function startCookie(headers: Headers, token: string): string {
  return `${nameFor(headers)}=${token}; Path=/; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Lax${secureFor(headers)}`
}

/** Returns the header `Set-Cookie` that removes the cookie. */
export function endCookie(headers: Headers): string {
  return `${nameFor(headers)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secureFor(headers)}`
}

/** Returns the name of a cookie of this origin. */
export function nameFor({ host }: Headers, name = 'vox'): string {
  return isLocal(host) ? name : `__Host-${name}`
}

export function secureFor({ host }: Headers): string {
  return isLocal(host) ? '' : '; Secure'
}

function isLocal(host: string | undefined): boolean {
  return host !== undefined && isLoopback(hostName(host))
}
