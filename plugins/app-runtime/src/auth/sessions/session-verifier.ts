import { mayUseCookies, type ProofRequest, type Verified, type Verifier } from '../verifier.ts'
import { sessionCookie } from './session-cookie.ts'
import { SESSION_PREFIX, type Session, type Sessions } from './sessions.ts'

/** Time for which a session is not looked up again if that takes a message to another thread, in milliseconds. */
const FRESH_MS = 2_000

/** Verifies sessions: a cookie, which counts only on requests from the same origin, or a bearer token. */
export class SessionVerifier implements Verifier {
  readonly provider = 'session'
  readonly #sessions: Pick<Sessions, 'find' | 'isSynchronous'>

  constructor(sessions: Pick<Sessions, 'find' | 'isSynchronous'>) {
    this.#sessions = sessions
  }

  acceptsBearer(token: string): boolean {
    return token.startsWith(SESSION_PREFIX)
  }

  ofRequest(request: ProofRequest): string | null {
    return mayUseCookies(request) ? (sessionCookie(request.headers) ?? null) : null
  }

  async verify(token: string): Promise<Verified> {
    const session = await this.#sessions.find(token)
    if (session === null) return { problem: 'invalid' }
    const left = session.expiresAtMs - Date.now()
    if (left <= 0) return { problem: 'expired' }
    // A session that is found at once is never remembered: it ends with its row.
    return { identity: identityOf(session), freshMs: this.#sessions.isSynchronous ? 0 : Math.min(FRESH_MS, left) }
  }
}

export function identityOf({
  id,
  subject,
  roles,
  claims,
  provider
}: Session): Extract<Verified, { identity: object }>['identity'] {
  return { id: subject, roles, scopes: [], claims: { ...claims, session: id }, provider }
}
