import type { HirSpan } from './hir.ts'

/** Guard of a function, route or page, from `@auth`, `@role`, `@public`, `@rate_limit`, `@cors` and `@webhook`. */
export interface GuardDeclaration {
  readonly kind: GuardedKind
  /** Name of the function or component; for a route, its method and path: `GET /tasks`. */
  readonly name: string
  /** Paths of a page, in the router's syntax: `/notes/:id`; empty for functions. */
  readonly paths: readonly string[]
  /** null: no caller has to be identified. */
  readonly auth: AuthRule | null
  /** True for `@public`. */
  readonly isPublic: boolean
  readonly limits: readonly RateLimit[]
  /** Origins of pages that may call, in addition to the server's own: `https://example.org`, or `*`; null without `@cors`. */
  readonly origins: readonly string[] | null
  readonly webhook: WebhookRule | null
  readonly span: HirSpan
}

export type GuardedKind = 'query' | 'mutation' | 'server' | 'route' | 'tool' | 'resource' | 'page'

/** Proof of identity that a guard accepts. `bearer`: any proof in the header `Authorization`. */
export type AuthProvider = 'session' | 'jwt' | 'api_key' | 'bearer' | 'oauth'

export const AUTH_PROVIDERS: readonly AuthProvider[] = ['session', 'jwt', 'api_key', 'bearer', 'oauth']

export interface AuthRule {
  /** null: any provider that is set up. */
  readonly provider: AuthProvider | null
  /** Header with the API key; null for `x-api-key`. */
  readonly header: string | null
  /** Scopes that an identity must have, all of them. `*` as a scope of an identity stands for every scope. */
  readonly scopes: readonly string[]
  /** Roles, of which an identity must have at least one; empty: any. */
  readonly roles: readonly string[]
  /** True: callers without an identity are admitted. */
  readonly isOptional: boolean
  /** Path to which browsers are redirected that open a page without an identity; null: they get status 401. */
  readonly redirect: string | null
}

/** Subject of a rate limit: whose calls are counted together. `endpoint`: all calls of the function. */
export type LimitSubject = 'ip' | 'user' | 'api_key' | 'endpoint'

export const LIMIT_SUBJECTS: readonly LimitSubject[] = ['ip', 'user', 'api_key', 'endpoint']

/** At most `max` calls in `windowMs` milliseconds. */
export interface RateLimit {
  readonly by: LimitSubject
  readonly max: number
  readonly windowMs: number
}

/** Scheme of the signature of a webhook. `generic`: Standard Webhooks. */
export type WebhookProvider = 'github' | 'stripe' | 'generic'

export const WEBHOOK_PROVIDERS: readonly WebhookProvider[] = ['github', 'stripe', 'generic']

export interface WebhookRule {
  readonly provider: WebhookProvider
  /** Name of the secret, for the secrets resolver. */
  readonly secret: string
}

/** Proven identity of a caller. */
export interface Identity {
  readonly id: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  /** Further claims: those of a JWT or of a session. */
  readonly claims: Readonly<Record<string, unknown>>
  /** `session`, `jwt`, `api_key` or `oauth`; `operator` for MCP over HTTP, `system` for the program itself. */
  readonly provider: string
}

/**
 * Part of the request that the result of a function depends on, directly or through calls. `user`: only the identity of
 * the caller. `all`: also other parts, such as headers.
 */
export type RequestUse = 'none' | 'user' | 'all'
