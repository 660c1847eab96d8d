import { isRemoteFailure, type RemoteAnswer, RemoteClient, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import type { AdapterParts } from '../parts.ts'

/** Seconds until a login expires; the server allows a week. */
const LOGIN_SECONDS = 3_600

/** Token of a login; kept in memory only. */
export class LoginCache {
  #token: { readonly account: string; readonly token: string } | null = null

  get(account: string): string | null {
    return this.#token?.account === account ? this.#token.token : null
  }

  set(account: string, token: string | null): void {
    this.#token = token === null ? null : { account, token }
  }
}

/** Sends requests to OpenReview as one user. Logs in again once if the token of a login has expired. */
export class OpenReviewSession {
  readonly #parts: AdapterParts
  readonly #http: RemoteClient
  readonly #logins: LoginCache
  readonly #signal: AbortSignal

  constructor(parts: AdapterParts, http: RemoteClient, logins: LoginCache, signal: AbortSignal) {
    this.#parts = parts
    this.#http = http.named('OpenReview')
    this.#logins = logins
    this.#signal = signal
  }

  get base(): string {
    return (this.#parts.settings().openreview_api_base ?? 'https://api2.openreview.net').replace(/\/+$/, '')
  }

  /** Sends a request with the token. `url` is a path with a query. */
  async send(request: RemoteRequest): Promise<RemoteAnswer> {
    const { openreview_access_token } = this.#parts.settings()
    const token = await this.#parts.secret(openreview_access_token, 'SVC_OPENREVIEW_ACCESS_TOKEN', this.#signal)
    if (token !== null) return await this.#authorized(request, token)
    const { email, password } = await this.#account()
    const account = `${this.base} ${email}`
    const known = this.#logins.get(account)
    if (known !== null) {
      try {
        return await this.#authorized(request, known)
      } catch (error) {
        if (!isRemoteFailure(error) || error.httpStatus !== 401) throw error
        this.#logins.set(account, null)
      }
    }
    const fresh = await this.#login(email, password)
    this.#logins.set(account, fresh)
    return await this.#authorized(request, fresh)
  }

  async #authorized(request: RemoteRequest, token: string): Promise<RemoteAnswer> {
    return await this.#http.send({
      ...request,
      url: this.base + request.url,
      headers: { accept: 'application/json', ...request.headers, authorization: `Bearer ${token}` }
    })
  }

  async #account(): Promise<{ readonly email: string; readonly password: string }> {
    const { openreview_email, openreview_password } = this.#parts.settings()
    const email = await this.#parts.secret(openreview_email, 'SVC_OPENREVIEW_EMAIL', this.#signal)
    const password = await this.#parts.secret(openreview_password, 'SVC_OPENREVIEW_PASSWORD', this.#signal)
    if (email !== null && password !== null) return { email, password }
    throw new RemoteFailure(
      'OpenReview: there are no credentials; set SVC_OPENREVIEW_ACCESS_TOKEN, or SVC_OPENREVIEW_EMAIL and SVC_OPENREVIEW_PASSWORD',
      { failureClass: 'config', code: 'not_configured' }
    )
  }

  /** Logs in. The request is not recorded, so that no hash of a body with a password is stored. */
  async #login(email: string, password: string): Promise<string> {
    const { openreview_http_max_attempts: attempts } = this.#parts.settings()
    const answer = await new RemoteClient({ service: 'OpenReview', signal: this.#signal, attempts }).send({
      method: 'POST',
      url: `${this.base}/login`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ id: email, password, expiresIn: LOGIN_SECONDS }),
      // A login changes nothing.
      repeatable: true
    })
    const { token, mfaPending } = (answer.json() ?? {}) as { readonly token?: unknown; readonly mfaPending?: unknown }
    if (typeof token === 'string' && token !== '') return token
    throw new RemoteFailure(
      mfaPending === true
        ? 'OpenReview: the account needs a second factor, which svc cannot enter; set SVC_OPENREVIEW_ACCESS_TOKEN'
        : 'OpenReview: the login returned no token; check the account',
      { failureClass: 'auth', code: mfaPending === true ? 'second_factor' : 'login_refused' }
    )
  }
}
