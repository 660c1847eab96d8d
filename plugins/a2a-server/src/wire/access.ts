import type { IncomingMessage } from 'node:http'
import { AccessTokens, type HttpExchange, hostName, isLoopback, type MeshRole, TokenBuckets } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'

/** Limit per client address. */
const MAX_WRONG_TOKENS_PER_MINUTE = 60

/** Identifies the caller of a request. Throws `A2S_UNAUTHORIZED` or `A2S_TOO_MANY_TOKENS`. */
export type Identify = (exchange: Pick<HttpExchange, 'request' | 'caller'>) => Principal

/** The listener has checked the token. */
export const listenerPrincipal: Identify = ({ caller }) => caller.principal

const READ = ['a2a.read']
const SEND = ['a2a.read', 'a2a.send']
/** Rights of the roles of a control plane: a worker takes tasks, and sends none. */
const ROLE_SCOPES: Readonly<Record<MeshRole, readonly string[]>> = {
  mesh: SEND,
  admin: SEND,
  submitter: SEND,
  worker: READ
}
/** In the order of comparison from last to first: of two equal tokens, the last one of {@link AccessTokens} counts. */
const ORDER: readonly MeshRole[] = ['admin', 'submitter', 'worker', 'mesh']

/**
 * Identifies callers by the tokens of a control plane. Without any token, callers that name this machine have the role
 * `mesh`. Pages of a browser are refused.
 */
export class MeshAccess {
  readonly #tokens: AccessTokens
  readonly #roles: readonly MeshRole[]

  constructor(tokens: Readonly<Partial<Record<MeshRole, string>>>) {
    const roles = ORDER.filter(role => tokens[role] !== undefined)
    this.#roles = roles
    this.#tokens = new AccessTokens(
      roles.map(role => tokens[role] as string),
      new TokenBuckets(MAX_WRONG_TOKENS_PER_MINUTE)
    )
  }

  get requiresToken(): boolean {
    return this.#roles.length > 0
  }

  readonly identify: Identify = ({ request }) => {
    const { host, origin } = request.headers
    if (origin !== undefined)
      throw a2aServerErrors.create('A2S_FORBIDDEN', 'pages of a browser may not call this server')
    if (!this.requiresToken) {
      // DNS may point any other name at this machine.
      if (host !== undefined && isLoopback(hostName(host))) return principalOf('mesh')
      throw a2aServerErrors.create('A2S_FORBIDDEN', 'without tokens, only calls to localhost are served', {
        hint: 'set SVC_MESH_TOKEN'
      })
    }
    const token = tokenOf(request)
    if (token === undefined)
      throw a2aServerErrors.create('A2S_UNAUTHORIZED', 'the request has no bearer token', {
        hint: 'send the header "Authorization: Bearer TOKEN"'
      })
    const { index, waitMs } = this.#tokens.check(token, request.socket.remoteAddress ?? '')
    const role = index === null ? undefined : this.#roles[index]
    if (role !== undefined) return principalOf(role)
    if (waitMs > 0)
      throw a2aServerErrors.create('A2S_TOO_MANY_TOKENS', 'too many wrong bearer tokens came from this address', {
        data: { retryAfterMs: Math.ceil(waitMs) },
        hint: `wait; the limit is ${this.#tokens.perMinute} wrong tokens per minute`
      })
    throw a2aServerErrors.create('A2S_UNAUTHORIZED', 'the bearer token is wrong')
  }
}

function principalOf(role: MeshRole): Principal {
  return { id: `mesh:${role}`, role, scopes: ROLE_SCOPES[role] }
}

function tokenOf({ headers: { authorization } }: IncomingMessage): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
}
