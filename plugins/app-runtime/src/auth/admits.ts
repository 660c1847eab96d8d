import type { AuthProvider, AuthRule, Identity } from '@svc/contracts'

/** Why a rule does not admit a caller; null if it does. */
export type Rejection = 'unauthorized' | 'forbidden' | null

/** Checks provider, roles and scopes of a caller. */
export function admits(rule: AuthRule, identity: Identity | null): Rejection {
  if (identity === null) return rule.isOptional ? null : 'unauthorized'
  if (!isFrom(rule.provider, identity.provider)) return rule.isOptional ? null : 'unauthorized'
  if (rule.roles.length > 0 && !rule.roles.some(role => identity.roles.includes(role))) return 'forbidden'
  return rule.scopes.every(scope => has(identity.scopes, scope)) ? null : 'forbidden'
}

/** True if the identity comes from a provider. Identities that no proof over HTTP has made are of every provider. */
function isFrom(provider: AuthProvider | null, actual: string): boolean {
  if (provider === null || provider === 'bearer' || !PROVEN.has(actual)) return true
  return provider === actual || (provider === 'session' && actual === 'oauth')
}

const PROVEN: ReadonlySet<string> = new Set(['session', 'jwt', 'api_key', 'oauth'])

function has(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || scopes.includes('*')
}
