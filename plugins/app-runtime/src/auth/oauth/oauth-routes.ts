import {
  type ClientAddresses,
  type DatabaseStore,
  type HttpExchange,
  type HttpHandlerRoute,
  hostName,
  isLoopback,
  type ProgramUsers
} from '@svc/contracts'
import { runErrors } from '../../errors.ts'
import { cookieOf } from '../../interpreter/request.ts'
import { JSON_TYPE, sendAnswer } from '../../serving/send-answer.ts'
import { localPath } from '../local-path.ts'
import type { CallLimit, RateLimits } from '../rate-limits.ts'
import type { AuthSecrets } from '../secret.ts'
import { nameFor, secureFor } from '../sessions/session-cookie.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { authRoute, isForm, type Run, redirect } from '../users/auth-body.ts'
import { normalIdentity } from '../users/password-routes.ts'
import { addCookie, type RequestSessions } from '../users/request-sessions.ts'
import type { PerformUsers } from '../users/session-routes.ts'
import { LinkedIdentities } from './linked-identities.ts'
import type { OpenIdClaims, OpenIdProvider } from './openid-provider.ts'
import { openState, SIGN_IN_MS, type SignInState, sealState } from './sign-in-state.ts'

const COOKIE = 'vox-sign-in'
const BY_ADDRESS: CallLimit = { max: 60, windowMs: 60_000 }
/** Maximum number of finished sign-ins that are remembered, so that none is finished twice. */
const MAX_FINISHED = 10_000
/** Claims that a session keeps if the program has no table of users. */
const KEPT = ['email', 'email_verified', 'name', 'preferred_username', 'picture']

export interface OAuthRoutesParts {
  readonly providers: ReadonlyMap<string, OpenIdProvider>
  /** Address of the program in browsers; null: as the request says. */
  readonly url: string | null
  readonly users: ProgramUsers | null
  readonly store: Pick<DatabaseStore, 'query' | 'execute' | 'batch'>
  readonly sessions: Pick<Sessions, 'endAll'>
  readonly requests: RequestSessions
  readonly secrets: AuthSecrets
  readonly limits: RateLimits
  readonly addresses: ClientAddresses
  readonly perform: PerformUsers
}

/** Returns the routes that send a browser to an OpenID provider, and begin a session when it comes back. */
export function oauthRoutes(parts: OAuthRoutesParts): HttpHandlerRoute[] {
  const routes = new OAuthRoutes(parts)
  const route = (path: string, summary: string, run: (exchange: HttpExchange) => Promise<void>): HttpHandlerRoute => ({
    method: 'GET',
    path,
    summary,
    handle(exchange) {
      exchange.response.setHeader('cache-control', 'no-store')
      run(exchange).catch((error: unknown) => exchange.fail(error))
    }
  })
  const signIn = [
    route('/api/auth/oauth/:provider', 'Signs in with an OpenID provider', routes.begin),
    route('/api/auth/callback/:provider', 'Ends a sign-in with an OpenID provider', routes.finish)
  ]
  if (parts.users === null) return signIn
  return [
    ...signIn,
    authRoute('POST', 'oauth/:provider/link', 'Links an OpenID identity to the user', routes.link),
    authRoute('POST', 'oauth/:provider/unlink', 'Removes the OpenID identity of the user', routes.unlink),
    authRoute('GET', 'identities', 'The ways in which the user can sign in', routes.list)
  ]
}

class OAuthRoutes {
  readonly #parts: OAuthRoutesParts
  /** null for a program without a table of users. */
  readonly #identities: LinkedIdentities | null
  /** States of the sign-ins that were finished, or failed to. */
  readonly #used = new Set<string>()

  constructor(parts: OAuthRoutesParts) {
    this.#parts = parts
    this.#identities = parts.users === null ? null : new LinkedIdentities(parts.store, parts.users)
  }

  readonly begin = async (exchange: HttpExchange): Promise<void> => {
    redirect(exchange, await this.#start(exchange, null))
  }

  /** Sends the user of a session to a provider. The session must still be the one of the browser at the end. */
  readonly link: Run = async exchange => {
    const session = await this.#parts.requests.fresh(exchange)
    const url = await this.#start(exchange, session.id)
    // A script opens the address itself, since it cannot follow a redirect to a page.
    if (isForm(exchange)) redirect(exchange, url)
    else exchange.send(200, JSON_TYPE, JSON.stringify({ url }))
  }

  readonly unlink: Run = async exchange => {
    const { requests, sessions } = this.#parts
    const session = await requests.fresh(exchange)
    await this.#identities?.unlink(session.subject, this.#provider(exchange))
    // Another one of them may be of the identity.
    await sessions.endAll(session.subject, session.id)
    exchange.send(200, JSON_TYPE, 'null')
  }

  readonly list: Run = async exchange => {
    const { subject } = await this.#parts.requests.required(exchange)
    const all = (await this.#identities?.of(subject, this.#parts.providers.values())) ?? []
    const shown = all.map(({ provider, createdAtMs }) => ({ provider, created_at_ms: createdAtMs }))
    exchange.send(200, JSON_TYPE, JSON.stringify(shown))
  }

  /** Returns the address at the provider, and sets the cookie with the state. */
  async #start(exchange: HttpExchange, link: SignInState['link']): Promise<string> {
    const provider = this.#provider(exchange)
    this.#limit(exchange)
    const { headers } = exchange.request
    const next = localPath(new URLSearchParams(exchange.query).get('next'))
    const { url, state } = await provider.begin(this.#redirectUri(exchange, provider), next, link)
    const sealed = sealState(state, this.#parts.secrets)
    addCookie(exchange, stateCookie(headers, sealed, SIGN_IN_MS / 1000))
    return url.href
  }

  readonly finish = async (exchange: HttpExchange): Promise<void> => {
    const provider = this.#provider(exchange)
    this.#limit(exchange)
    const { headers } = exchange.request
    const text = cookieOf(headers.cookie, nameFor(headers, COOKIE))
    const pending = text === undefined ? null : openState(text, this.#parts.secrets)
    addCookie(exchange, stateCookie(headers, '', 0))
    if (pending === null || pending.provider !== provider.name || this.#used.has(pending.state)) {
      throw runErrors.create(
        'RUN_UNAUTHORIZED',
        'this browser has not begun this sign-in, or has finished it already',
        {
          hint: 'sign in again'
        }
      )
    }
    const redirectUri = this.#redirectUri(exchange, provider)
    const callback = new URL(`${redirectUri}?${exchange.query}`)
    this.#remember(pending)
    const claims = await provider.finish(callback, redirectUri, pending)
    if (pending.link !== null) {
      await this.#finishLink(exchange, pending.link, claims)
      redirect(exchange, pending.next)
      return
    }
    const subject = await this.#subjectOf(exchange, provider, claims)
    if (subject === null) return
    await this.#beginSession(exchange, subject, claims)
    redirect(exchange, pending.next)
  }

  async #finishLink(exchange: HttpExchange, sessionId: string, claims: OpenIdClaims): Promise<void> {
    const session = await this.#parts.requests.of(exchange)
    if (session?.id !== sessionId) {
      throw runErrors.create('RUN_UNAUTHORIZED', 'the session that began to link the identity has ended', {
        hint: 'sign in and link it again'
      })
    }
    await this.#identities?.link(session.subject, subjectAt(claims))
  }

  /** Returns the id of the user, who is created at the first sign-in; null if that was refused and answered. */
  async #subjectOf(exchange: HttpExchange, provider: OpenIdProvider, claims: OpenIdClaims): Promise<string | null> {
    const { users, perform } = this.#parts
    if (users === null || this.#identities === null) return `${provider.name}|${claims.sub}`
    const subject = subjectAt(claims)
    const known = (await this.#identities.userOf(subject)) ?? (await this.#userByEmail(provider, claims))
    if (known !== null) return known
    const { status, body } = await perform({
      op: 'sign_up',
      row: rowOf(users, claims),
      provider: 'oauth',
      subject,
      secret: null
    })
    if (status === 200) return /^\{"id":"(\d+)"/.exec(body)?.[1] ?? null
    // A user with this address exists. Its owner there may not be the owner here, so the two are not joined.
    sendAnswer(exchange, status, body)
    return null
  }

  /**
   * Returns the user with the verified address, if the provider is set up so. The password, the other identities and the
   * sessions of that user end, since anyone could have signed up with the address before its owner came.
   */
  async #userByEmail(provider: OpenIdProvider, claims: OpenIdClaims): Promise<string | null> {
    const { users, sessions } = this.#parts
    const { email, email_verified: isVerified } = claims
    if (!provider.linksByEmail || users?.identity !== 'email' || isVerified !== true || typeof email !== 'string') {
      return null
    }
    const user = (await this.#identities?.userWith('email', normalIdentity(email))) ?? null
    if (user === null) return null
    await this.#identities?.linkAlone(user, subjectAt(claims))
    await sessions.endAll(user)
    return user
  }

  async #beginSession(exchange: HttpExchange, subject: string, claims: OpenIdClaims): Promise<void> {
    const { users, requests } = this.#parts
    const kept = KEPT.flatMap(name => (name in claims ? [[name, claims[name]]] : []))
    await requests.begin(exchange, {
      subject,
      provider: 'oauth',
      claims: users === null ? Object.fromEntries(kept) : {}
    })
  }

  #provider({ params }: HttpExchange): OpenIdProvider {
    const provider = this.#parts.providers.get(params.provider ?? '')
    if (provider !== undefined) return provider
    throw runErrors.create('RUN_NOT_FOUND', `there is no OpenID provider ${params.provider}`, {
      hint: `the providers are ${[...this.#parts.providers.keys()].join(', ')}`
    })
  }

  #redirectUri({ request }: HttpExchange, { name }: OpenIdProvider): string {
    const { host = 'localhost' } = request.headers
    const own = `${isLoopback(hostName(host)) ? 'http' : 'https'}://${host}`
    return `${(this.#parts.url ?? own).replace(/\/$/, '')}/api/auth/callback/${name}`
  }

  #limit({ request, response }: HttpExchange): void {
    const waitMs = this.#parts.limits.take(`oauth ${this.#parts.addresses.keyOf(request)}`, BY_ADDRESS)
    if (waitMs === 0) return
    response.setHeader('retry-after', String(Math.ceil(waitMs / 1000)))
    throw runErrors.create('RUN_RATE_LIMITED', 'too many attempts', { hint: 'try again later' })
  }

  #remember({ state }: SignInState): void {
    this.#used.add(state)
    const [oldest] = this.#used
    if (this.#used.size > MAX_FINISHED && oldest !== undefined) this.#used.delete(oldest)
  }
}

/** Returns the columns of a new user from the claims of the same names. Throws `RUN_FORBIDDEN`. */
function rowOf({ table, identity, signUpColumns }: ProgramUsers, claims: OpenIdClaims): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const name of signUpColumns) {
    const value = claims[name]
    if (value === undefined || value === null) {
      throw runErrors.create('RUN_FORBIDDEN', `the OpenID provider sends no ${name}, which the table ${table} requires`)
    }
    row[name] = name === identity ? normalIdentity(String(value)) : value
  }
  // An address that the provider has not verified may belong to another person.
  if (identity === 'email' && claims.email_verified !== true) {
    throw runErrors.create('RUN_FORBIDDEN', 'the OpenID provider has not verified the email address', {
      hint: 'verify it there, and sign in again'
    })
  }
  return row
}

/** Returns the form in which an identity at a provider is stored. */
function subjectAt({ iss, sub }: OpenIdClaims): string {
  return `${iss} ${sub}`
}

function stateCookie(headers: HttpExchange['request']['headers'], value: string, seconds: number): string {
  // Lax: the provider sends the browser back with a link.
  return `${nameFor(headers, COOKIE)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secureFor(headers)}`
}
