import {
  type AuthRule,
  type ClientAddresses,
  factsOf,
  type GuardDeclaration,
  type HttpExchange,
  type Identity,
  type McpCall,
  type Program,
  type RateLimit,
  type RequestUse,
  type WebhookRule
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { ANONYMOUS_TEXT, callerText, type RequestParts, SYSTEM_TEXT } from '../interpreter/request.ts'
import { admits } from './admits.ts'
import type { Authenticator, Outcome, Proven } from './authenticator.ts'
import type { IdentityFilter } from './ended-identities.ts'
import { PageGuards } from './page-guards.ts'
import type { RateLimits } from './rate-limits.ts'
import { type Refusal, refusalError, refuse } from './refuse.ts'
import { hasServiceToken, type ProofRequest, proofRequest } from './verifier.ts'
import type { Webhooks } from './webhooks.ts'

export interface GuardParts {
  readonly authenticator: Authenticator
  readonly limits: RateLimits
  readonly addresses: ClientAddresses
  readonly webhooks: Webhooks
  readonly log: Pick<Logger, 'error'>
}

/** An admitted caller, for the thread and for streams. */
export interface Admitted {
  /** The caller as text. */
  readonly text: string
  readonly proven: Proven | null
}

/** Caller of a stream, such as a websocket. */
export interface StreamCaller extends Pick<HttpExchange, 'request' | 'caller'> {
  readonly proof: ProofRequest
}

/** Continues with an admitted request. The exchange may be another one, whose body was read already. */
export type Continue = (exchange: HttpExchange, admitted: Admitted) => void

/** Answers a request that a guard refuses. */
export type Answer = (exchange: HttpExchange, refusal: Refusal) => unknown

const ANYONE: Admitted = { text: ANONYMOUS_TEXT, proven: null }

/**
 * Guards of the endpoints of a program. They run in the main thread before a call is queued: limit by address, signature,
 * identity, roles and scopes, limit by identity.
 */
export class Guards {
  /** By function, or method and path of a route. An endpoint without a guard, and without a use of the request, has none. */
  readonly #guards: ReadonlyMap<string, EndpointGuard>
  readonly #origins: ReadonlyMap<string, readonly string[]>
  readonly #authenticator: Authenticator
  readonly pages: PageGuards

  constructor({ guards, facts }: Pick<Program, 'guards' | 'facts'>, parts: GuardParts) {
    this.#authenticator = parts.authenticator
    const declared = guards.filter(({ kind }) => kind !== 'page')
    const made = new Map<string, EndpointGuard>()
    for (const guard of declared) {
      made.set(guard.name, new EndpointGuard(guard, factsOf(facts, guard.name).request, parts))
    }
    for (const [name, { request }] of Object.entries(facts.declarations)) {
      if (request !== 'none' && !made.has(name)) made.set(name, new EndpointGuard({ ...OPEN, name }, request, parts))
    }
    this.#guards = made
    const pages = guards.filter(({ kind }) => kind === 'page')
    this.pages = new PageGuards(pages.map(page => ({ ...page, guard: new EndpointGuard(page, 'none', parts) })))
    this.#origins = new Map(
      declared.flatMap(({ name, origins }) => (origins === null ? [] : [[name, origins] as const]))
    )
  }

  /**
   * Returns the caller of a tool or resource as text. The operator of this process is the system. Over HTTP, it is one
   * caller among others: every user of this machine can reach a local port. Throws `RUN_RATE_LIMITED`; roles and scopes
   * are checked by the call.
   */
  ofTool(name: string, { principal, isOverHttp }: Pick<McpCall, 'principal' | 'isOverHttp'>): string {
    const isOperator = !isOverHttp && principal.id === 'local' && principal.role === 'owner'
    if (isOperator) return SYSTEM_TEXT
    const { id, role, scopes } = principal
    const isAnonymous = role === 'anonymous'
    this.#guards.get(name)?.limitTool(isAnonymous ? 'anonymous' : id)
    const identity: Identity = { id, roles: [role], scopes, claims: {}, provider: 'operator' }
    return isAnonymous ? ANONYMOUS_TEXT : callerText(JSON.stringify(identity), null)
  }

  /** Origins of pages that may call an endpoint, in addition to the server's own; undefined without `@cors`. */
  originsOf(name: string): readonly string[] | undefined {
    return this.#origins.get(name)
  }

  /** Proves identities again that were remembered. */
  forget(isMeant: IdentityFilter): void {
    this.#authenticator.forget(isMeant)
  }

  /** Returns the guard of an endpoint; null if it is open and does not depend on its caller. */
  of(name: string): EndpointGuard | null {
    return this.#guards.get(name) ?? null
  }
}

const OPEN: Omit<GuardDeclaration, 'name' | 'kind' | 'paths' | 'span'> = {
  auth: null,
  isPublic: true,
  limits: [],
  origins: null,
  webhook: null
}

type Declared = Pick<GuardDeclaration, 'name' | 'auth' | 'limits' | 'webhook'>

/** Guard of one endpoint. */
export class EndpointGuard {
  readonly #name: string
  /** null: callers without an identity are admitted, and an invalid proof counts as none. */
  readonly #auth: AuthRule | null
  readonly #webhook: WebhookRule | null
  /** Limits by address and of the endpoint, which are checked before the identity. */
  readonly #early: readonly KeyedLimit[]
  readonly #late: readonly KeyedLimit[]
  readonly #use: RequestUse
  readonly #parts: GuardParts

  constructor({ name, auth, limits, webhook }: Declared, use: RequestUse, parts: GuardParts) {
    this.#name = name
    this.#auth = auth
    this.#webhook = webhook
    const keyed = limits.map((limit, index) => ({ ...limit, prefix: `${name} ${index} ` }))
    const isEarly = ({ by }: RateLimit): boolean => by === 'ip' || by === 'endpoint'
    this.#early = keyed.filter(isEarly)
    this.#late = keyed.filter(limit => !isEarly(limit))
    this.#use = use
    this.#parts = parts
  }

  /** Continues if the request is admitted; else `answer` answers it. */
  admit(exchange: HttpExchange, next: Continue, answer: Answer = refuse): void {
    for (const limit of this.#early) if (this.#isLimited(exchange, limit, null, answer)) return
    if (this.#webhook === null) this.#identify(exchange, next, answer)
    else this.#verify(this.#webhook, exchange, next, answer)
  }

  /**
   * Admits the caller of a stream. `isFirst`: the call counts against the limits; later ones check the identity again.
   * Throws `RUN_UNAUTHORIZED`, `RUN_FORBIDDEN`, `RUN_RATE_LIMITED` and `RUN_AUTH_UNAVAILABLE`.
   */
  async admitStream(stream: StreamCaller, isFirst: boolean): Promise<Admitted> {
    const limit = (limits: readonly KeyedLimit[], proven: Proven | null): void => {
      for (const each of isFirst ? limits : []) {
        const waitMs = this.#parts.limits.take(each.prefix + this.#subjectOf(stream, each, proven), each)
        if (waitMs > 0) throw refusalError({ kind: 'limited', limit: each, waitMs })
      }
    }
    limit(this.#early, null)
    const auth = this.#auth
    if (auth === null && this.#use === 'none') return ANYONE
    const outcome = await this.#outcomeOf(stream)
    if (typeof outcome === 'string' && outcome !== 'none' && auth !== null)
      throw refusalError({ kind: 'unauthorized', outcome, auth })
    const proven = typeof outcome === 'string' ? null : outcome
    const rejection = auth === null ? null : admits(auth, proven?.identity ?? null)
    if (rejection !== null && auth !== null)
      throw refusalError(
        rejection === 'forbidden' ? { kind: 'forbidden', auth } : { kind: 'unauthorized', outcome: 'none', auth }
      )
    limit(this.#late, proven)
    return { text: callerText(proven?.json ?? null, this.#use === 'all' ? this.#partsOf(stream) : null), proven }
  }

  async #outcomeOf({ proof, caller }: StreamCaller): Promise<Outcome> {
    const { provider = null, header = null, isOptional = false } = this.#auth ?? {}
    try {
      return await this.#parts.authenticator.identify(proof, provider, header, isOptional)
    } catch (error) {
      const request_id = caller.requestId
      this.#parts.log.error(`the caller of ${this.#name} could not be identified`, { error, request_id })
      throw refusalError({ kind: 'unavailable' })
    }
  }

  /** Counts a call of a tool. Throws `RUN_RATE_LIMITED`. */
  limitTool(caller: string): void {
    for (const limit of [...this.#early, ...this.#late]) {
      const waitMs = this.#parts.limits.take(limit.prefix + (limit.by === 'endpoint' ? '' : caller), limit)
      if (waitMs === 0) continue
      const hint = `wait ${Math.ceil(waitMs / 1000)} s`
      throw runErrors.create('RUN_RATE_LIMITED', `${this.#name}: too many calls`, { hint })
    }
  }

  /** Checks the signature of a webhook, whose body is then read already. */
  #verify(rule: WebhookRule, exchange: HttpExchange, next: Continue, answer: Answer): void {
    const { webhooks } = this.#parts
    if (!webhooks.has(rule)) {
      const setting = `plugins.app-runtime.auth.webhooks.${rule.secret}`
      this.#parts.log.error(`${this.#name} refuses its webhook, because ${setting} is not set`)
      answer(exchange, { kind: 'unavailable' })
      return
    }
    exchange.body(bytes => {
      const problem = webhooks.problemOf(rule, exchange.request.headers, bytes)
      if (problem === null) this.#identify(withBody(exchange, bytes), next, answer)
      else answer(exchange, { kind: 'signature', problem })
    })
  }

  #identify(exchange: HttpExchange, next: Continue, answer: Answer): void {
    if (this.#auth === null && this.#use === 'none') {
      next(exchange, ANYONE)
      return
    }
    const request = proofRequest(exchange.request, exchange.caller)
    const { provider = null, header = null, isOptional = false } = this.#auth ?? {}
    const outcome = this.#parts.authenticator.identify(request, provider, header, isOptional)
    if (!(outcome instanceof Promise)) {
      this.#decide(exchange, outcome, next, answer)
      return
    }
    outcome
      .then(
        found => {
          if (exchange.caller.cancelled !== true) this.#decide(exchange, found, next, answer)
        },
        (error: unknown) => {
          this.#parts.log.error(`the caller of ${this.#name} could not be identified`, {
            error,
            request_id: exchange.caller.requestId
          })
          answer(exchange, { kind: 'unavailable' })
        }
      )
      .catch((error: unknown) => exchange.fail(error))
  }

  #decide(exchange: HttpExchange, outcome: Outcome, next: Continue, answer: Answer): void {
    const auth = this.#auth
    if (typeof outcome === 'string' && outcome !== 'none' && auth !== null) {
      answer(exchange, { kind: 'unauthorized', outcome, auth })
      return
    }
    const proven = typeof outcome === 'string' ? null : outcome
    const rejection = auth === null ? null : admits(auth, proven?.identity ?? null)
    if (rejection !== null && auth !== null) {
      answer(
        exchange,
        rejection === 'forbidden' ? { kind: 'forbidden', auth } : { kind: 'unauthorized', outcome: 'none', auth }
      )
      return
    }
    for (const limit of this.#late) if (this.#isLimited(exchange, limit, proven, answer)) return
    exchange.response.setHeader('cache-control', 'no-store')
    const parts = this.#use === 'all' ? this.#partsOf(exchange) : null
    next(exchange, { text: callerText(proven?.json ?? null, parts), proven })
  }

  #isLimited(exchange: HttpExchange, limit: KeyedLimit, proven: Proven | null, answer: Answer): boolean {
    const waitMs = this.#parts.limits.take(limit.prefix + this.#subjectOf(exchange, limit, proven), limit)
    if (waitMs > 0) answer(exchange, { kind: 'limited', limit, waitMs })
    return waitMs > 0
  }

  /** Returns whose calls a limit counts together. Without an identity, that is the address. */
  #subjectOf({ request }: Pick<HttpExchange, 'request'>, { by }: RateLimit, proven: Proven | null): string {
    if (by === 'endpoint') return ''
    if (by !== 'ip' && proven !== null) {
      const { id, provider, claims } = proven.identity
      return by === 'api_key' && provider === 'api_key' ? `key ${claims.key}` : `user ${id}`
    }
    return `ip ${this.#parts.addresses.keyOf(request)}`
  }

  /** Returns the parts that a program may read. It must not see the token of the service. */
  #partsOf({ request, caller }: Pick<HttpExchange, 'request' | 'caller'>): RequestParts {
    const isService = hasServiceToken(caller)
    const headers: Record<string, string> = {}
    for (const name in request.headers) {
      const value = request.headers[name]
      if (value === undefined || name === 'proxy-authorization' || (isService && name === 'authorization')) continue
      headers[name] = Array.isArray(value) ? value.join(', ') : value
    }
    return {
      method: request.method ?? 'GET',
      ip: this.#parts.addresses.addressOf(request),
      id: caller.requestId,
      headers
    }
  }
}

type KeyedLimit = RateLimit & { readonly prefix: string }

/** Returns an exchange whose body was read already. */
function withBody(exchange: HttpExchange, bytes: Buffer): HttpExchange {
  return {
    request: exchange.request,
    response: exchange.response,
    caller: exchange.caller,
    params: exchange.params,
    query: exchange.query,
    body: take => take(bytes),
    send: (...args) => exchange.send(...args),
    fail: error => exchange.fail(error),
    stream: () => exchange.stream()
  }
}
