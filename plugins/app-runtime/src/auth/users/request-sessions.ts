import type { HttpExchange } from '@svc/contracts'
import { runErrors } from '../../errors.ts'
import { endCookie, sessionCookie, startCookie } from '../sessions/session-cookie.ts'
import type { NewSession, Session, Sessions } from '../sessions/sessions.ts'
import { bearerOf, mayUseCookies } from '../verifier.ts'

/** Time after a sign-in within which a user can change how to sign in, in milliseconds. */
const FRESH_MS = 10 * 60_000

/** Sessions of requests. */
export class RequestSessions {
  readonly #sessions: Sessions

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  /** Returns the session of a request; null if there is none, or it has ended. */
  async of({ request, caller }: HttpExchange): Promise<Session | null> {
    const { method = 'GET', headers } = request
    const bearer = caller.principal.id === 'bearer' ? null : bearerOf(headers.authorization ?? '')
    const token = bearer ?? (mayUseCookies({ method, headers }) ? sessionCookie(headers) : undefined)
    if (token === undefined) return null
    const session = await this.#sessions.find(token)
    return session !== null && session.expiresAtMs > Date.now() ? session : null
  }

  /** Throws `RUN_UNAUTHORIZED` if there is no session. */
  async required(exchange: HttpExchange): Promise<Session> {
    const session = await this.of(exchange)
    if (session !== null) return session
    exchange.response.setHeader('www-authenticate', 'Bearer realm="app"')
    throw runErrors.create('RUN_UNAUTHORIZED', 'no user is signed in', { hint: 'sign in first' })
  }

  /** Throws `RUN_UNAUTHORIZED` if there is no session, and `RUN_FORBIDDEN` if its sign-in is too long ago. */
  async fresh(exchange: HttpExchange): Promise<Session> {
    const session = await this.required(exchange)
    if (Date.now() - session.createdAtMs <= FRESH_MS) return session
    throw runErrors.create('RUN_FORBIDDEN', `the user has signed in more than ${FRESH_MS / 60_000} minutes ago`, {
      hint: 'sign in again first'
    })
  }

  /**
   * Begins a session, and ends the one of the request: no token from before a sign-in is valid after it. Returns the
   * token for a client that keeps it itself; others get a cookie.
   */
  async begin(exchange: HttpExchange, session: Omit<NewSession, 'agent'>, isForToken = false): Promise<string | null> {
    const { headers } = exchange.request
    const before = await this.of(exchange)
    const { token } = await this.#sessions.create({ ...session, agent: headers['user-agent'] })
    if (before !== null) await this.#sessions.end(before.subject, before.id)
    if (isForToken) return token
    addCookie(exchange, startCookie(headers, token))
    return null
  }

  /** Ends the session of a request. */
  async end(exchange: HttpExchange): Promise<void> {
    const session = await this.of(exchange)
    if (session !== null) await this.#sessions.end(session.subject, session.id)
    const { method = 'GET', headers } = exchange.request
    // Another site cannot sign its visitors out.
    if (mayUseCookies({ method, headers })) addCookie(exchange, endCookie(headers))
  }
}

/** Adds a cookie to the response. */
export function addCookie({ response }: HttpExchange, cookie: string): void {
  response.appendHeader('set-cookie', cookie)
}
