import type { AuthRule, HttpExchange, RateLimit } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { WebhookProblem } from './webhooks.ts'

/** Why a guard refuses a request. */
export type Refusal =
  | { readonly kind: 'unauthorized'; readonly outcome: 'none' | 'invalid' | 'expired'; readonly auth: AuthRule }
  | { readonly kind: 'forbidden'; readonly auth: AuthRule }
  | { readonly kind: 'limited'; readonly limit: RateLimit; readonly waitMs: number }
  | { readonly kind: 'signature'; readonly problem: WebhookProblem }
  | { readonly kind: 'unavailable' }

interface Answer {
  readonly code: keyof typeof runErrors.specs
  readonly error: string
  readonly hint?: string
  readonly details?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers a request that a guard refuses, in the form of errors of functions. Returns the status. */
export function refuse(exchange: HttpExchange, refusal: Refusal): number {
  const { code, headers = {}, ...rest } = answerOf(refusal)
  const { caller } = exchange
  caller.recordError?.(code)
  const { status } = runErrors.specs[code]
  const body = JSON.stringify({ ...rest, code, request_id: caller.requestId })
  exchange.send(status, 'application/json; charset=utf-8', body, { 'cache-control': 'no-store', ...headers })
  return status
}

const refusals = new WeakMap<object, Refusal>()

/** Returns a refusal as an error, for callers without a request to answer. */
export function refusalError(refusal: Refusal): Error {
  const { code, error, hint, details } = answerOf(refusal)
  const made = runErrors.create(code, error, defined({ hint, data: details }))
  refusals.set(made, refusal)
  return made
}

/** Answers a request with an error; with a refusal, if the error is one of {@link refusalError}. */
export function failWith(exchange: HttpExchange, error: unknown): void {
  const refusal = typeof error === 'object' && error !== null ? refusals.get(error) : undefined
  if (refusal === undefined) exchange.fail(error)
  else refuse(exchange, refusal)
}

function answerOf(refusal: Refusal): Answer {
  switch (refusal.kind) {
    case 'unauthorized':
      return unauthorized(refusal)
    case 'forbidden': {
      const { scopes } = refusal.auth
      const scope = scopes.length === 0 ? '' : `, scope="${quoted(scopes.join(' '))}"`
      return {
        code: 'RUN_FORBIDDEN',
        error: 'the caller lacks a role or scope that the function needs',
        headers: { 'www-authenticate': `Bearer realm="app", error="insufficient_scope"${scope}` }
      }
    }
    case 'limited': {
      const { by, max, windowMs } = refusal.limit
      const seconds = Math.ceil(refusal.waitMs / 1000)
      return {
        code: 'RUN_RATE_LIMITED',
        error: 'too many calls',
        hint: `wait ${seconds} s`,
        details: { by, max, window_ms: windowMs, retry_after_ms: Math.ceil(refusal.waitMs) },
        headers: { 'retry-after': String(seconds) }
      }
    }
    case 'signature':
      return {
        code: 'RUN_UNAUTHORIZED',
        error: SIGNATURES[refusal.problem],
        headers: { 'www-authenticate': 'Signature realm="app"' }
      }
    case 'unavailable':
      return { code: 'RUN_AUTH_UNAVAILABLE', error: 'the caller cannot be checked now', hint: 'try again later' }
  }
}

const SIGNATURES: Readonly<Record<WebhookProblem, string>> = {
  unsigned: 'the request has no signature',
  wrong: 'the signature does not match the body',
  outdated: 'the signature is too old',
  repeated: 'the request was delivered already'
}

const PROBLEMS = {
  none: 'the function needs a proven identity',
  invalid: 'the proof of identity is not valid',
  expired: 'the proof of identity has expired'
} as const

function unauthorized({ outcome, auth }: Extract<Refusal, { kind: 'unauthorized' }>): Answer {
  const { provider, header } = auth
  const scheme = provider === 'api_key' ? `ApiKey realm="app", header="${header ?? 'x-api-key'}"` : 'Bearer realm="app"'
  const problem = outcome === 'none' || provider === 'api_key' ? '' : ', error="invalid_token"'
  return {
    code: 'RUN_UNAUTHORIZED',
    error: PROBLEMS[outcome],
    ...defined({ hint: outcome === 'none' ? hintOf(auth) : undefined }),
    headers: { 'www-authenticate': scheme + problem }
  }
}

function hintOf({ provider, header }: AuthRule): string {
  if (provider === 'session' || provider === 'oauth') return 'sign in first'
  if (provider === 'api_key') return `send an API key in the header "${header ?? 'x-api-key'}"`
  return 'send the header "Authorization: Bearer TOKEN"'
}

/** Escapes a text for a quoted string of a header. */
function quoted(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')
}
