import type { AuthInfo } from '@modelcontextprotocol/server'
import type { McpPrincipal } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'

/** The user who started the process and uses its standard streams. */
export const OWNER: Principal = { id: 'local', role: 'owner', scopes: ['*'] }

/** The same user, restricted: sees and calls only tools that change nothing. */
export const READER: Principal = { id: 'local', role: 'read', scopes: ['*'] }

/**
 * Roles that see only tools that change nothing. An anonymous caller reached the server from another machine, without a
 * token.
 */
const READ_ONLY_ROLES: ReadonlySet<string> = new Set(['read', 'anonymous'])

/** Properties that determine visibility. */
export interface Guarded {
  readonly scopes: readonly string[]
  readonly readOnly: boolean
}

/** True if a principal sees a tool; an invisible tool does not exist for it. */
export function maySeeTool(principal: McpPrincipal, tool: Guarded & { readonly name: string }): boolean {
  return (principal.tools?.has(tool.name) ?? true) && mayHave(principal, tool)
}

/** The same for a resource or a prompt. */
export function maySee(principal: McpPrincipal, item: Guarded): boolean {
  return principal.tools === undefined && mayHave(principal, item)
}

function mayHave(principal: Principal, { scopes, readOnly }: Guarded): boolean {
  if (!readOnly && READ_ONLY_ROLES.has(principal.role)) return false
  return principal.scopes.includes('*') || scopes.every(scope => principal.scopes.includes(scope))
}

/** Carries a principal through the SDK, which passes `AuthInfo` to every server. */
export function authInfoOf(principal: Principal): AuthInfo {
  return { token: '', clientId: principal.id, scopes: [...principal.scopes], extra: { principal } }
}

/** Without authentication, the caller is the owner: standard streams have no other caller. */
export function principalOf(auth: AuthInfo | undefined): McpPrincipal {
  return (auth?.extra?.principal as McpPrincipal | undefined) ?? OWNER
}
