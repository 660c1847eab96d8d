import { createHash } from 'node:crypto'
import { isRemoteFailure, type RemoteAnswer, RemoteClient, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { addressOf, textAt } from './answer.ts'
import { rateLimited } from './rate-limit.ts'

const SERVICE = 'Bluesky'
/** Time limit of one login. */
const LOGIN_MS = 60_000

export interface BlueskyAccount {
  readonly service: string
  readonly handle: string
  readonly appPassword: string
}

interface Session {
  readonly did: string
  readonly access: string
  readonly refresh: string
}

export type XrpcRequest = Pick<RemoteRequest, 'method' | 'repeatable'> & {
  /** Name of the procedure or query. */
  readonly name: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** Names of errors that are returned instead of thrown. */
  readonly acceptErrors?: readonly string[]
}

export interface XrpcAnswer {
  /** Name of the error, or null. */
  readonly error: string | null
  readonly value: unknown
}

/**
 * Session at a server of the AT Protocol. Its tokens are only in memory. Concurrent calls share one login; an ended
 * access token is refreshed once, and if that fails, the app password is used again.
 */
export class BlueskySession {
  #current: { readonly key: string; session: Promise<Session> } | null = null

  /** Returns the DID of the account. */
  async did(account: BlueskyAccount): Promise<string> {
    return (await this.#session(account)).did
  }

  /** Throws {@link RemoteFailure}; a refused app password has the class `auth` and the code `login_refused`. */
  async call(account: BlueskyAccount, http: RemoteClient, request: XrpcRequest): Promise<XrpcAnswer> {
    const session = await this.#session(account)
    const answer = await send(http, account, request, session.access)
    const isEnded = answer.error === 'ExpiredToken' || answer.error === 'InvalidToken' || answer.status === 401
    if (!isEnded) return read(answer, request)
    const renewed = await this.#renew(account, session)
    return read(await send(http, account, request, renewed.access), request)
  }

  #session(account: BlueskyAccount): Promise<Session> {
    const key = createHash('sha256').update(JSON.stringify(account)).digest('hex')
    if (this.#current?.key === key) return this.#current.session
    return this.#keep(key, logIn(account))
  }

  /** Renews a session, unless another call has done so. */
  async #renew(account: BlueskyAccount, ended: Session): Promise<Session> {
    const current = this.#current
    if (current !== null && (await current.session.catch(() => null)) === ended && this.#current === current)
      return this.#keep(
        current.key,
        refresh(account, ended).catch(error => {
          if (isRemoteFailure(error) && error.retryable) throw error
          return logIn(account)
        })
      )
    return this.#session(account)
  }

  #keep(key: string, session: Promise<Session>): Promise<Session> {
    const entry = { key, session }
    this.#current = entry
    session.catch(() => {
      if (this.#current === entry) this.#current = null
    })
    return session
  }
}

interface Raw {
  readonly status: number
  readonly error: string | null
  readonly value: unknown
}

async function send(
  client: RemoteClient,
  { service }: BlueskyAccount,
  request: XrpcRequest,
  token?: string
): Promise<Raw> {
  const { method, name, query = {}, body, repeatable } = request
  const search = new URLSearchParams(query).toString()
  const answer = await client.named(SERVICE).send({
    method,
    url: addressOf(service, `/xrpc/${name}${search === '' ? '' : `?${search}`}`),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(repeatable === undefined ? {} : { repeatable }),
    accept: [400, 401, 429]
  })
  if (answer.status === 429) throw rateLimited(SERVICE, answer, 'ratelimit-reset')
  return parsed(answer)
}

function parsed(answer: RemoteAnswer): Raw {
  const { status } = answer
  if (status < 300) return { status, error: null, value: answer.json() }
  try {
    const name = textAt(JSON.parse(answer.text), 'error')
    return { status, error: name !== null && /^[A-Za-z]{2,60}$/.test(name) ? name : 'other', value: null }
  } catch {
    return { status, error: 'other', value: null }
  }
}

function read({ status, error, value }: Raw, { name, acceptErrors = [] }: XrpcRequest): XrpcAnswer {
  if (error === null || (status === 400 && acceptErrors.includes(error))) return { error, value }
  throw new RemoteFailure(
    status === 401
      ? `${SERVICE}: the session is not accepted; check the app password`
      : `${SERVICE}: ${name} is refused (${error}); change the item, or check the account`,
    {
      failureClass: status === 401 ? 'auth' : 'fatal',
      code: status === 401 ? 'http_401' : `bluesky_${error.toLowerCase()}`,
      httpStatus: status
    }
  )
}

/** Sends a request of a login. It is not recorded, so that no hash of a body with a password is stored. */
async function sendLogin(account: BlueskyAccount, request: XrpcRequest, token?: string): Promise<Raw> {
  const signal = AbortSignal.timeout(LOGIN_MS)
  try {
    return await creatingNothing(send(new RemoteClient({ service: SERVICE, signal }), account, request, token))
  } catch (error) {
    if (isRemoteFailure(error) || !signal.aborted) throw error
    throw new RemoteFailure(`${SERVICE}: no login within ${LOGIN_MS} ms; try again later`, {
      failureClass: 'transient',
      code: 'timeout'
    })
  }
}

/** Waits for a request that creates no post, whatever its outcome. */
export async function creatingNothing<A>(request: Promise<A>): Promise<A> {
  try {
    return await request
  } catch (error) {
    if (!isRemoteFailure(error)) throw error
    const { message, failureClass, code, httpStatus, retryAfterMs } = error
    throw new RemoteFailure(message, { failureClass, code, ...defined({ httpStatus, retryAfterMs }) })
  }
}

async function logIn(account: BlueskyAccount): Promise<Session> {
  const answer = await sendLogin(account, {
    method: 'POST',
    name: 'com.atproto.server.createSession',
    body: { identifier: account.handle, password: account.appPassword },
    repeatable: true
  })
  return sessionOf(answer)
}

async function refresh(account: BlueskyAccount, session: Session): Promise<Session> {
  const request = { method: 'POST', name: 'com.atproto.server.refreshSession' } as const
  return sessionOf(await sendLogin(account, request, session.refresh))
}

function sessionOf({ status, value }: Raw): Session {
  const did = textAt(value, 'did')
  const access = textAt(value, 'accessJwt')
  const refresh = textAt(value, 'refreshJwt')
  if (did !== null && access !== null && refresh !== null) return { did, access, refresh }
  throw new RemoteFailure(`${SERVICE}: the login is refused; check the handle and the app password`, {
    failureClass: 'auth',
    code: 'login_refused',
    httpStatus: status
  })
}
