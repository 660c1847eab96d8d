import { clientKeyOf, type DashboardRole, type HttpExchange, type TokenBuckets } from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import { dashboardErrors } from '../errors.ts'
import { jsonObject, sendJson, sendNothing } from '../json.ts'
import type { Access } from './access.ts'
import type { SignInCodes } from './codes.ts'
import type { Session, Sessions } from './sessions.ts'

/** Session as the page receives it. */
export interface ShownSession extends Session {
  readonly readOnly: boolean
  /** True for the session of the caller. */
  readonly current: boolean
}

export interface SignInParts {
  readonly access: Access
  readonly sessions: Sessions
  readonly codes: SignInCodes
  /** Limit of wrong sign-in codes from one address. */
  readonly tries: TokenBuckets
  readonly readOnly: boolean
  readonly log: Logger
  /** Called after a session has ended. */
  readonly onEnd: (session: string) => void
}

/** Maximum size of the body with a code. */
const MAX_BODY_BYTES = 4_096

/** Begins, lists and ends sessions. */
export class SignIn {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  /** Exchanges a code for a cookie and a token. Fails with `DSH_TOO_MANY_TRIES` or `DSH_CODE_INVALID`. */
  begin(exchange: HttpExchange): void {
    const { access, sessions, log } = this.#parts
    const { request } = exchange
    access.checkNotForeign(request)
    exchange.body(bytes => {
      const { code } = jsonObject(bytes)
      const role = this.#redeem(code, request.socket.remoteAddress ?? '')
      const { session, cookie, token } = sessions.create(role)
      exchange.response.setHeader('set-cookie', this.#cookie(exchange, cookie, session.expires - session.created))
      sendJson(exchange, { token, session: this.shown(session, session) }, 201)
      log.info('a browser signed in to the console', {
        session: session.id,
        role,
        request_id: exchange.caller.requestId
      })
    }, MAX_BODY_BYTES)
  }

  /**
   * Uses up a code. Only wrong codes count as tries: any program of the same address, such as that of another user, can
   * send them, and must not keep a person with a valid code out.
   */
  #redeem(code: unknown, address: string): DashboardRole {
    const { codes, tries } = this.#parts
    try {
      return codes.redeem(typeof code === 'string' ? code : '')
    } catch (error) {
      const waitMs = isSvcError(error, 'DSH_CODE_INVALID') ? tries.take(clientKeyOf(address)) : 0
      if (waitMs === 0) throw error
      throw dashboardErrors.create('DSH_TOO_MANY_TRIES', 'too many wrong sign-in codes came from this address', {
        data: { retryAfterMs: Math.ceil(waitMs) },
        hint: `wait; the limit is ${tries.perMinute} wrong codes per minute`
      })
    }
  }

  end(exchange: HttpExchange, { id }: Session): void {
    this.#parts.sessions.revoke(id)
    this.#parts.onEnd(id)
    exchange.response.setHeader('set-cookie', this.#cookie(exchange, '', 0))
    sendNothing(exchange)
  }

  list(current: Session): readonly ShownSession[] {
    return this.#parts.sessions.list().map(each => this.shown(each, current))
  }

  /** Ends the session that the path names. Throws `DSH_SESSION_UNKNOWN`. */
  revoke(exchange: HttpExchange): void {
    const { id = '' } = exchange.params
    if (!this.#parts.sessions.revoke(id))
      throw dashboardErrors.create('DSH_SESSION_UNKNOWN', `the console has no session ${JSON.stringify(id)}`, {
        hint: 'it may have ended; svc dashboard sessions lists them'
      })
    this.#parts.onEnd(id)
    sendNothing(exchange)
  }

  shown(session: Session, current: Session): ShownSession {
    return { ...session, readOnly: this.#parts.readOnly, current: session.id === current.id }
  }

  #cookie({ request }: HttpExchange, value: string, maxAgeMs: number): string {
    const { access } = this.#parts
    const parts = [
      `${access.cookieName}=${value}`,
      'Path=/ui',
      'HttpOnly',
      'SameSite=Strict',
      `Max-Age=${Math.floor(maxAgeMs / 1000)}`
    ]
    return [...parts, ...(access.isSecure(request) ? ['Secure'] : [])].join('; ')
  }
}
