import type { AuthRule, GuardDeclaration } from '@svc/contracts'

type Guard = GuardDeclaration | undefined

/** Names of the security schemes. The one of an API key in another header ends with the header. */
const BEARER = 'bearer'
const SESSION = 'session'
const apiKeyName = (header: string | null): string => (header === null ? 'api_key' : `api_key_${header}`)

/** Returns the security schemes that the guards accept, for `components`. */
export function securitySchemes(guards: readonly GuardDeclaration[]): object {
  const schemes: Record<string, object> = {}
  for (const { auth, kind } of guards) {
    if (auth === null || kind === 'page') continue
    for (const name of schemesOf(auth)) schemes[name] = schemeOf(name, auth)
  }
  return Object.keys(schemes).length === 0 ? {} : { securitySchemes: schemes }
}

function schemesOf({ provider, header }: AuthRule): string[] {
  switch (provider) {
    case null:
      return [BEARER, apiKeyName(header), SESSION]
    case 'session':
    case 'oauth':
      return [SESSION, BEARER]
    case 'api_key':
      return [apiKeyName(header), BEARER]
    default:
      return [BEARER]
  }
}

function schemeOf(name: string, { header }: AuthRule): object {
  if (name === BEARER) return { type: 'http', scheme: 'bearer', description: 'A token, an API key or a session.' }
  if (name === SESSION) return { type: 'apiKey', in: 'cookie', name: '__Host-vox', description: 'A session.' }
  return { type: 'apiKey', in: 'header', name: header ?? 'x-api-key' }
}

/** Returns the fields of an operation that describe its guard. */
export function guardFields(guard: Guard): object {
  if (guard === undefined) return {}
  const { auth, limits, webhook } = guard
  const needed = auth === null ? [] : [...auth.scopes, ...auth.roles.map(role => `role:${role}`)]
  const alternatives = auth === null ? [] : schemesOf(auth).map(name => ({ [name]: needed }))
  return {
    ...(auth === null ? {} : { security: auth.isOptional ? [...alternatives, {}] : alternatives }),
    ...(limits.length === 0
      ? {}
      : { 'x-rate-limit': limits.map(({ by, max, windowMs }) => ({ by, max, window_ms: windowMs })) }),
    ...(webhook === null ? {} : { 'x-webhook': { provider: webhook.provider } })
  }
}

export interface GuardFailure {
  readonly status: string
  readonly description: string
  readonly headers?: object
}

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds until the next call is allowed.', schema: { type: 'integer' } }
}

/** Returns the error responses of a guard. */
export function guardFailures(guard: Guard): GuardFailure[] {
  if (guard === undefined) return []
  const { auth, limits, webhook } = guard
  const unsigned = { status: '401', description: 'The request has no valid signature.' }
  const unauthorized = { status: '401', description: 'The caller has no valid proof of identity.' }
  const forbidden = { status: '403', description: 'The caller lacks a role or scope.' }
  const limited = { status: '429', description: 'The caller exceeded a rate limit.', headers: RETRY_AFTER }
  return [
    ...(auth === null ? (webhook === null ? [] : [unsigned]) : [unauthorized]),
    ...(auth !== null && auth.roles.length + auth.scopes.length > 0 ? [forbidden] : []),
    ...(limits.length === 0 ? [] : [limited])
  ]
}
