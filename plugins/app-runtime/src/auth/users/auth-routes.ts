import {
  clientKeyOf,
  type DatabaseStore,
  type HttpExchange,
  type HttpHandlerRoute,
  isJsonMediaType,
  type ProgramUsers,
  parseJsonBody
} from '@svc/contracts'
import { runErrors } from '../../errors.ts'
import { quoted, tableName } from '../../schema/names.ts'
import { JSON_TYPE, sendAnswer } from '../../serving/send-answer.ts'
import type { CallLimit, RateLimits } from '../rate-limits.ts'
import { endCookie, sessionCookie, startCookie } from '../sessions/session-cookie.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import { bearerOf, mayUseCookies } from '../verifier.ts'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, type Passwords } from './passwords.ts'
import { IDENTITIES_TABLE } from './user-tables.ts'
import type { UsersWork } from './users-runner.ts'

/** Maximum bytes of a body. */
const MAX_BODY = 65_536
/** Maximum length of the value with which a user signs in. */
const MAX_IDENTITY_CHARS = 320

const MINUTE_MS = 60_000
/** Attempts of one address, and of one address for one user. */
const BY_ADDRESS: CallLimit = { max: 60, windowMs: MINUTE_MS }
const BY_ADDRESS_AND_USER: CallLimit = { max: 10, windowMs: MINUTE_MS }
/** Attempts for one user from all addresses: high, because anyone could lock the user out. */
const BY_USER: CallLimit = { max: 100, windowMs: 15 * MINUTE_MS }

/** Does work on users in a thread of the program. */
export type PerformUsers = (work: UsersWork) => Promise<{ readonly status: number; readonly body: string }>

export interface AuthRoutesParts {
  readonly users: ProgramUsers
  readonly store: Pick<DatabaseStore, 'query' | 'execute'>
  readonly sessions: Sessions
  readonly passwords: Passwords
  readonly limits: RateLimits
  readonly perform: PerformUsers
}

/** Returns the routes with which users sign up and in, change their password, and see and end their sessions. */
export function authRoutes(parts: AuthRoutesParts): HttpHandlerRoute[] {
  const { users } = parts
  const routes = new AuthRoutes(parts)
  const route = (method: 'GET' | 'POST', name: string, summary: string, run: Run): HttpHandlerRoute => ({
    method,
    path: `/api/auth/${name}`,
    summary,
    handle(exchange) {
      exchange.response.setHeader('cache-control', 'no-store')
      const failed = (error: unknown): void => exchange.fail(error)
      if (method === 'GET') run(exchange, {}).catch(failed)
      else withFields(exchange, fields => void run(exchange, fields).catch(failed))
    }
  })
  const own = [
    route('POST', 'sign_out', 'Ends the session', routes.signOut),
    route('GET', 'me', 'The user who is signed in, or null', routes.me),
    route('GET', 'sessions', 'The sessions of the user', routes.list),
    route('POST', 'end_session', 'Ends another session of the user', routes.endSession)
  ]
  if (!users.hasPassword) return own
  return [
    route('POST', 'sign_up', 'Creates a user with a password, and begins a session', routes.signUp),
    route('POST', 'sign_in', 'Begins a session with a password', routes.signIn),
    route('POST', 'password', 'Changes the password, and ends the other sessions', routes.changePassword),
    ...own
  ]
}

type Fields = Readonly<Record<string, unknown>>
type Run = (exchange: HttpExchange, fields: Fields) => Promise<void>

class AuthRoutes {
  readonly #parts: AuthRoutesParts
  readonly #findUser: string

  constructor(parts: AuthRoutesParts) {
    const { users } = parts
    const table = tableName(users.table)
    this.#parts = parts
    // Without a password, the outer join finds the user with an empty secret.
    this.#findUser = `SELECT u."_id", i.secret FROM ${quoted(table)} AS u LEFT JOIN ${IDENTITIES_TABLE} AS i
ON i.realm = ? AND i.provider = 'password' AND i.subject = CAST(u."_id" AS TEXT) WHERE u.${quoted(users.identity)} = ?`
  }

  readonly signUp: Run = async (exchange, fields) => {
    const { users, passwords, perform } = this.#parts
    const identity = this.#identity(fields)
    this.#limit(exchange, identity)
    const isForToken = wantsToken(exchange, fields)
    const password = newPassword(fields.password)
    const known = new Set([...users.signUpColumns, 'password', 'session'])
    const unknown = Object.keys(fields).find(name => !known.has(name))
    if (unknown !== undefined) {
      throw runErrors.create('RUN_ARGUMENTS', `${unknown}: a sign-up does not set it`, {
        hint: `it takes ${[...users.signUpColumns, 'password'].join(', ')}; the program sets other columns`
      })
    }
    const columns = users.signUpColumns
      .filter(name => name !== users.identity)
      .map(name => [name, fields[name]] as const)
    const row = {
      [users.identity]: identity,
      ...Object.fromEntries(columns.filter(([, value]) => value !== undefined))
    }
    const secret = await passwords.hash(password)
    const { status, body } = await perform({ op: 'sign_up', row, provider: 'password', subject: null, secret })
    if (status !== 200) {
      sendAnswer(exchange, status, body)
      return
    }
    const { id, user } = parts(body)
    await this.#begin(exchange, id, user, isForToken)
  }

  readonly signIn: Run = async (exchange, fields) => {
    const { users, store, passwords, perform } = this.#parts
    const identity = this.#identity(fields)
    this.#limit(exchange, identity)
    const isForToken = wantsToken(exchange, fields)
    const { password } = fields
    if (typeof password !== 'string' || password.length > MAX_PASSWORD_CHARS) throw wrongArgument('password', 'a str')
    const { rows } = await store.query(this.#findUser, [tableName(users.table), identity])
    const [id = null, secret = null] = rows[0] ?? []
    // An unknown user takes as long as a wrong password, and gets the same answer.
    const isRight = await passwords.verify(password, typeof secret === 'string' ? secret : null)
    if (!isRight || id === null) {
      exchange.response.setHeader('www-authenticate', 'Bearer realm="app"')
      throw runErrors.create('RUN_UNAUTHORIZED', `the ${users.identity} or the password is wrong`)
    }
    const { body } = await perform({ op: 'row', id: String(id) })
    await this.#begin(exchange, String(id), body, isForToken)
  }

  readonly changePassword: Run = async (exchange, fields) => {
    const { users, store, sessions, passwords } = this.#parts
    const session = await this.#required(exchange)
    this.#limit(exchange, `id ${session.subject}`)
    const { current } = fields
    if (typeof current !== 'string' || current.length > MAX_PASSWORD_CHARS) throw wrongArgument('current', 'a str')
    const password = newPassword(fields.password)
    const realm = tableName(users.table)
    const { rows } = await store.query(
      `SELECT secret FROM ${IDENTITIES_TABLE} WHERE realm = ? AND provider = 'password' AND subject = ?`,
      [realm, session.subject]
    )
    const [secret = null] = rows[0] ?? []
    if (!(await passwords.verify(current, typeof secret === 'string' ? secret : null))) {
      throw runErrors.create('RUN_FORBIDDEN', 'the current password is wrong')
    }
    const hash = await passwords.hash(password)
    // Two changes at the same time: only the first has the right current password.
    const { changes } = await store.execute(
      `UPDATE ${IDENTITIES_TABLE} SET secret = ? WHERE realm = ? AND provider = 'password' AND subject = ? AND secret = ?`,
      [hash, realm, session.subject, secret]
    )
    if (changes === 0) throw runErrors.create('RUN_FORBIDDEN', 'the current password is wrong')
    await sessions.endAll(session.subject)
    const isForToken = bearerOf(exchange.request.headers.authorization ?? '') !== null
    await this.#begin(exchange, session.subject, null, isForToken)
  }

  readonly signOut: Run = async exchange => {
    const session = await this.#session(exchange)
    if (session !== null) await this.#parts.sessions.end(session.subject, session.id)
    exchange.response.setHeader('set-cookie', endCookie(exchange.request.headers))
    exchange.send(200, JSON_TYPE, 'null')
  }

  readonly me: Run = async exchange => {
    const session = await this.#session(exchange)
    if (session === null) {
      exchange.send(200, JSON_TYPE, 'null')
      return
    }
    const { status, body } = await this.#parts.perform({ op: 'row', id: session.subject })
    sendAnswer(exchange, status, body)
  }

  readonly list: Run = async exchange => {
    const session = await this.#required(exchange)
    const all = await this.#parts.sessions.list(session.subject)
    const shown = all.map(({ id, agent, createdAtMs, expiresAtMs }) => ({
      id,
      agent,
      created_at_ms: createdAtMs,
      expires_at_ms: expiresAtMs,
      is_current: id === session.id
    }))
    exchange.send(200, JSON_TYPE, JSON.stringify(shown))
  }

  readonly endSession: Run = async (exchange, fields) => {
    const session = await this.#required(exchange)
    const { id } = fields
    if (typeof id !== 'string') throw wrongArgument('id', 'the id of a session')
    const isEnded = await this.#parts.sessions.end(session.subject, id)
    exchange.send(200, JSON_TYPE, JSON.stringify(isEnded))
  }

  /** Begins a session of a user, and ends the one of the request: a session never outlives a sign-in. */
  async #begin(exchange: HttpExchange, subject: string, user: string | null, isForToken: boolean): Promise<void> {
    const { sessions } = this.#parts
    const { headers } = exchange.request
    const before = await this.#session(exchange)
    const { token } = await sessions.create({ subject, provider: 'session', agent: headers['user-agent'] })
    if (before !== null) await sessions.end(before.subject, before.id)
    if (!isForToken) exchange.response.setHeader('set-cookie', startCookie(headers, token))
    const shown = user === null ? null : `"user":${user}`
    const sent = isForToken ? `"token":${JSON.stringify(token)}` : null
    exchange.send(200, JSON_TYPE, `{${[shown, sent].filter(each => each !== null).join()}}`)
  }

  async #required(exchange: HttpExchange): Promise<Session> {
    const session = await this.#session(exchange)
    if (session !== null) return session
    exchange.response.setHeader('www-authenticate', 'Bearer realm="app"')
    throw runErrors.create('RUN_UNAUTHORIZED', 'no user is signed in', { hint: 'sign in first' })
  }

  /** Returns the session of the request; null if there is none, or it has ended. */
  async #session({ request, caller }: HttpExchange): Promise<Session | null> {
    const { method = 'GET', headers } = request
    const bearer = caller.principal.id === 'bearer' ? null : bearerOf(headers.authorization ?? '')
    const token = bearer ?? (mayUseCookies({ method, headers }) ? sessionCookie(headers) : undefined)
    if (token === undefined) return null
    const session = await this.#parts.sessions.find(token)
    return session !== null && session.expiresAtMs > Date.now() ? session : null
  }

  #identity(fields: Fields): string {
    const { identity } = this.#parts.users
    const value = fields[identity]
    if (typeof value !== 'string') throw wrongArgument(identity, 'a str')
    const normal = normalIdentity(value)
    if (normal === '' || normal.length > MAX_IDENTITY_CHARS) {
      throw wrongArgument(identity, `a text of 1 to ${MAX_IDENTITY_CHARS} characters`)
    }
    return normal
  }

  /** Limits the attempts. Throws `RUN_RATE_LIMITED`. */
  #limit({ request, response }: HttpExchange, identity: string): void {
    const { limits } = this.#parts
    const address = clientKeyOf(request.socket.remoteAddress ?? '')
    const waitMs = Math.max(
      limits.take(`ip ${address}`, BY_ADDRESS),
      limits.take(`ip ${address} ${identity}`, BY_ADDRESS_AND_USER),
      limits.take(`user ${identity}`, BY_USER)
    )
    if (waitMs === 0) return
    const seconds = Math.ceil(waitMs / 1000)
    response.setHeader('retry-after', String(seconds))
    throw runErrors.create('RUN_RATE_LIMITED', 'too many attempts', { hint: `wait ${seconds} s` })
  }
}

/** Returns the form in which the value is stored and compared. An address of e-mail has no upper case. */
export function normalIdentity(value: string): string {
  const text = value.normalize('NFKC').trim()
  return text.includes('@') ? text.toLowerCase() : text
}

/** Returns whether the caller wants a token instead of a cookie. Pages of other origins get no cookie of this one. */
function wantsToken({ request }: HttpExchange, { session = 'cookie' }: Fields): boolean {
  if (session !== 'cookie' && session !== 'token') throw wrongArgument('session', '"cookie" or "token"')
  if (session === 'token') return true
  const { headers, method = 'POST' } = request
  const isFromPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
  if (isFromPage && !mayUseCookies({ method, headers })) {
    throw runErrors.create('RUN_FORBIDDEN', 'a page of another origin cannot begin a session with a cookie', {
      hint: 'send "session": "token", and the token in the header Authorization'
    })
  }
  return false
}

function newPassword(value: unknown): string {
  const length = typeof value === 'string' ? [...value.normalize('NFKC')].length : 0
  if (typeof value !== 'string' || length < MIN_PASSWORD_CHARS || length > MAX_PASSWORD_CHARS) {
    throw wrongArgument('password', `a text of ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters`)
  }
  return value
}

function wrongArgument(name: string, expected: string): Error {
  return runErrors.create('RUN_ARGUMENTS', `${name}: it must be ${expected}`)
}

function parts(body: string): { readonly id: string; readonly user: string } {
  // Ints of the row may exceed the numbers of JavaScript, so its text is passed on.
  const [, id = ''] = /^\{"id":"(\d+)","user":/.exec(body) ?? []
  return { id, user: body.slice(`{"id":"${id}","user":`.length, -1) }
}

function withFields(exchange: HttpExchange, take: (fields: Fields) => void): void {
  const type = exchange.request.headers['content-type']
  exchange.body(bytes => {
    try {
      // A form of another site cannot send this content type without asking first.
      if (bytes.length > 0 && !isJsonMediaType(type)) {
        throw runErrors.create(
          'RUN_MEDIA_TYPE',
          `the body has the content type "${type ?? ''}"; this route accepts JSON`,
          {
            hint: 'send it with content-type: application/json'
          }
        )
      }
      const body = bytes.length === 0 ? {} : parseJsonBody(bytes)
      if (typeof body !== 'object' || body === null || Array.isArray(body)) throw wrongArgument('body', 'an object')
      take(body as Fields)
    } catch (error) {
      exchange.fail(error)
    }
  }, MAX_BODY)
}
