import type { ClientAddresses, DatabaseStore, HttpExchange, HttpHandlerRoute, ProgramUsers } from '@svc/contracts'
import { runErrors } from '../../errors.ts'
import { quoted, tableName } from '../../schema/names.ts'
import { JSON_TYPE, sendAnswer } from '../../serving/send-answer.ts'
import type { CallLimit, RateLimits } from '../rate-limits.ts'
import { bearerOf, mayUseCookies } from '../verifier.ts'
import { authRoute, type Fields, type Run, wrongArgument } from './auth-body.ts'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, type Passwords } from './passwords.ts'
import type { SessionRoutesParts } from './session-routes.ts'
import { IDENTITIES_TABLE } from './user-tables.ts'

/** Maximum length of the value with which a user signs in. */
const MAX_IDENTITY_CHARS = 320

const MINUTE_MS = 60_000
/** Attempts of one address, and of one address for one user. */
const BY_ADDRESS: CallLimit = { max: 60, windowMs: MINUTE_MS }
const BY_ADDRESS_AND_USER: CallLimit = { max: 10, windowMs: MINUTE_MS }
/** Attempts for one user from all addresses: high, because anyone could lock the user out. */
const BY_USER: CallLimit = { max: 100, windowMs: 15 * MINUTE_MS }

export interface PasswordRoutesParts extends SessionRoutesParts {
  readonly users: ProgramUsers
  readonly store: Pick<DatabaseStore, 'query' | 'execute'>
  readonly passwords: Passwords
  readonly limits: RateLimits
  readonly addresses: ClientAddresses
}

/** Returns the routes with which users sign up and in with a password, and change it. */
export function passwordRoutes(parts: PasswordRoutesParts): HttpHandlerRoute[] {
  const { users, store, sessions, requests, passwords, perform } = parts
  const realm = tableName(users.table)
  // Without a password, the outer join finds the user with an empty secret.
  const findUser = `SELECT u."_id", i.secret FROM ${quoted(realm)} AS u LEFT JOIN ${IDENTITIES_TABLE} AS i
ON i.realm = ? AND i.provider = 'password' AND i.subject = CAST(u."_id" AS TEXT) WHERE u.${quoted(users.identity)} = ?`

  const signUp: Run = async (exchange, fields) => {
    const identity = identityIn(users, fields)
    limit(exchange, parts, identity)
    const isForToken = wantsToken(exchange, fields)
    const password = newPassword(fields.password)
    const row = { ...rowIn(users, fields), [users.identity]: identity }
    const secret = await passwords.hash(password)
    const { status, body } = await perform({ op: 'sign_up', row, provider: 'password', subject: null, secret })
    const [start, id] = /^\{"id":"(\d+)","user":/.exec(body) ?? []
    if (status !== 200 || start === undefined || id === undefined) {
      sendAnswer(exchange, status, body)
      return
    }
    // Ints of the row may exceed the numbers of JavaScript, so its text is passed on.
    await begin(exchange, id, body.slice(start.length, -1), isForToken)
  }

  const signIn: Run = async (exchange, fields) => {
    const identity = identityIn(users, fields)
    limit(exchange, parts, identity)
    const isForToken = wantsToken(exchange, fields)
    const { rows } = await store.query(findUser, [realm, identity])
    const [id = null, secret = null] = rows[0] ?? []
    // An unknown user takes as long as a wrong password, and gets the same answer.
    const isRight = await passwords.verify(passwordIn(fields, 'password'), typeof secret === 'string' ? secret : null)
    if (!isRight || id === null) {
      exchange.response.setHeader('www-authenticate', 'Bearer realm="app"')
      throw runErrors.create('RUN_UNAUTHORIZED', `the ${users.identity} or the password is wrong`)
    }
    const { body } = await perform({ op: 'row', id: String(id) })
    await begin(exchange, String(id), body, isForToken)
  }

  const change: Run = async (exchange, fields) => {
    const session = await requests.required(exchange)
    limit(exchange, parts, `id ${session.subject}`)
    const current = passwordIn(fields, 'current')
    const password = newPassword(fields.password)
    const { rows } = await store.query(
      `SELECT secret FROM ${IDENTITIES_TABLE} WHERE realm = ? AND provider = 'password' AND subject = ?`,
      [realm, session.subject]
    )
    const [secret = null] = rows[0] ?? []
    const isRight = await passwords.verify(current, typeof secret === 'string' ? secret : null)
    const hash = isRight ? await passwords.hash(password) : null
    // Of two changes at the same time, only the first has the right current password.
    const { changes } =
      hash === null
        ? { changes: 0 }
        : await store.execute(
            `UPDATE ${IDENTITIES_TABLE} SET secret = ? WHERE realm = ? AND provider = 'password' AND subject = ? AND secret = ?`,
            [hash, realm, session.subject, secret]
          )
    if (changes === 0) throw runErrors.create('RUN_FORBIDDEN', 'the current password is wrong')
    await sessions.endAll(session.subject)
    const isForToken = bearerOf(exchange.request.headers.authorization ?? '') !== null
    await begin(exchange, session.subject, null, isForToken)
  }

  /** Begins a session and answers with the user as JSON. */
  const begin = async (exchange: HttpExchange, id: string, user: string | null, isForToken: boolean): Promise<void> => {
    const token = await requests.begin(exchange, { subject: id, provider: 'session' }, isForToken)
    const members = [user === null ? [] : `"user":${user}`, token === null ? [] : `"token":${JSON.stringify(token)}`]
    exchange.send(200, JSON_TYPE, `{${members.flat().join()}}`)
  }

  return [
    authRoute('POST', 'sign_up', 'Creates a user with a password, and begins a session', signUp),
    authRoute('POST', 'sign_in', 'Begins a session with a password', signIn),
    authRoute('POST', 'password', 'Changes the password, and ends the other sessions', change)
  ]
}

/** Returns the form in which the value is stored and compared. An address of e-mail has no upper case. */
export function normalIdentity(value: string): string {
  const text = value.normalize('NFKC').trim()
  return text.includes('@') ? text.toLowerCase() : text
}

function identityIn({ identity }: ProgramUsers, fields: Fields): string {
  const value = fields[identity]
  if (typeof value !== 'string') throw wrongArgument(identity, 'a str')
  const normal = normalIdentity(value)
  if (normal === '' || normal.length > MAX_IDENTITY_CHARS) {
    throw wrongArgument(identity, `a text of 1 to ${MAX_IDENTITY_CHARS} characters`)
  }
  return normal
}

/** Returns the columns that a sign-up sets. Throws `RUN_ARGUMENTS` for others, such as a role. */
function rowIn({ signUpColumns }: ProgramUsers, fields: Fields): Fields {
  const unknown = Object.keys(fields).find(name => ![...signUpColumns, 'password', 'session'].includes(name))
  if (unknown !== undefined) {
    throw runErrors.create('RUN_ARGUMENTS', `${unknown}: a sign-up does not set it`, {
      hint: `it takes ${[...signUpColumns, 'password'].join(', ')}; the program sets other columns`
    })
  }
  return Object.fromEntries(signUpColumns.flatMap(name => (name in fields ? [[name, fields[name]]] : [])))
}

/** Limits the attempts. Throws `RUN_RATE_LIMITED`. */
function limit(
  { request, response }: HttpExchange,
  { limits, addresses }: Pick<PasswordRoutesParts, 'limits' | 'addresses'>,
  identity: string
): void {
  const address = addresses.keyOf(request)
  // An attempt that one limit refuses does not count against the next: else one address could lock a user out at once.
  const waitMs =
    limits.take(`ip ${address}`, BY_ADDRESS) ||
    limits.take(`ip ${address} ${identity}`, BY_ADDRESS_AND_USER) ||
    limits.take(`user ${identity}`, BY_USER)
  if (waitMs === 0) return
  const seconds = Math.ceil(waitMs / 1000)
  response.setHeader('retry-after', String(seconds))
  throw runErrors.create('RUN_RATE_LIMITED', 'too many attempts', { hint: `wait ${seconds} s` })
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

function passwordIn(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || isTooLong(value)) throw wrongArgument(name, 'a password')
  return value
}

/** The same for new and current passwords: a user could not sign in with one that only the sign-up accepts. */
function isTooLong(password: string): boolean {
  return [...password].length > MAX_PASSWORD_CHARS
}

function newPassword(value: unknown): string {
  const length = typeof value === 'string' ? [...value.normalize('NFKC')].length : 0
  if (typeof value !== 'string' || length < MIN_PASSWORD_CHARS || isTooLong(value)) {
    throw wrongArgument('password', `a text of ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters`)
  }
  return value
}
