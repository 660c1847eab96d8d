import { createHash } from 'node:crypto'
import {
  isRemoteFailure,
  type RemoteAnswer,
  RemoteClient,
  RemoteFailure,
  type RemoteRequest,
  SecretLogin
} from '@svc/contracts'
import { withOutcome } from '../channels/answer.ts'

/** Time limit of one login. */
const LOGIN_MS = 60_000
/** Lifetime of tokens whose answer names none, in seconds. */
const DEFAULT_LIFETIME_S = 300

export interface RefreshGrant {
  /** Name of the service in error messages. */
  readonly service: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly refreshToken: string
  /** `basic`: the client authenticates by a header; `body`: by fields of the form. */
  readonly clientAuth: 'basic' | 'body'
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends requests with an access token that a refresh token gives (RFC 6749, section 6). The access token is only in
 * memory. Concurrent calls share one login, a token is renewed at 80 percent of its lifetime, and a request that the
 * server answers with 401 is repeated once with another token.
 */
export class RefreshTokenLogin {
  #current: { readonly key: string; readonly login: SecretLogin } | null = null

  /** Throws {@link RemoteFailure} and the reason of the signal. A refused refresh token has the class `auth` and the code `oauth_refused`. */
  async send(
    grant: RefreshGrant,
    http: RemoteClient,
    request: RemoteRequest,
    signal: AbortSignal
  ): Promise<RemoteAnswer> {
    const login = this.#loginFor(grant)
    const token = await login.token(signal)
    try {
      return await http.send(withToken(request, token))
    } catch (error) {
      if (!isRemoteFailure(error) || error.httpStatus !== 401) throw error
      await login.end(token)
      return http.send(withToken(request, await login.token(signal)))
    }
  }

  #loginFor(grant: RefreshGrant): SecretLogin {
    const parts = [grant.tokenUrl, grant.clientId, grant.clientSecret, grant.refreshToken]
    const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
    if (this.#current?.key !== key)
      this.#current = {
        key,
        login: new SecretLogin(
          () => logIn(grant),
          () => performance.now()
        )
      }
    return this.#current.login
  }
}

function withToken(request: RemoteRequest, token: string): RemoteRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
}

async function logIn(grant: RefreshGrant): Promise<{ token: string; lifetimeS: number }> {
  const { service, tokenUrl, clientId, clientSecret, refreshToken, clientAuth } = grant
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken })
  if (clientAuth === 'body') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  }
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const answer = await requestToken(service, {
    method: 'POST',
    url: tokenUrl,
    headers: {
      ...grant.headers,
      'content-type': 'application/x-www-form-urlencoded',
      ...(clientAuth === 'basic' ? { authorization: `Basic ${basic}` } : {})
    },
    body: form.toString(),
    // Refresh tokens of these services stay valid, so that a login can be repeated.
    repeatable: true,
    accept: [400]
  })
  const { access_token: token, expires_in: lifetime } = fieldsOf(answer)
  if (answer.status === 400 || typeof token !== 'string' || token === '')
    throw new RemoteFailure(`${service}: the refresh token is not accepted; authorize the application again`, {
      failureClass: 'auth',
      code: 'oauth_refused',
      httpStatus: answer.status
    })
  const lifetimeS = typeof lifetime === 'number' && lifetime > 0 ? lifetime : DEFAULT_LIFETIME_S
  return { token, lifetimeS }
}

/** The exchange is not recorded, so that no hash of a body with a token is stored. */
async function requestToken(service: string, request: RemoteRequest): Promise<RemoteAnswer> {
  const signal = AbortSignal.timeout(LOGIN_MS)
  try {
    return await new RemoteClient({ service: `${service} login`, signal }).send(request)
  } catch (error) {
    // A login creates no post, whatever its outcome.
    if (isRemoteFailure(error)) throw withOutcome(error, false)
    if (!signal.aborted) throw error
    throw new RemoteFailure(`${service}: no login within ${LOGIN_MS} ms; try again later`, {
      failureClass: 'transient',
      code: 'timeout'
    })
  }
}

function fieldsOf(answer: RemoteAnswer): Readonly<Record<string, unknown>> {
  if (answer.status === 400) return {}
  const value = answer.json()
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
