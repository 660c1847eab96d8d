import type { AuthInfo } from '@modelcontextprotocol/server'
import type { HttpCaller, McpPrincipal } from '@svc/contracts'
import { defined, type Principal } from '@svc/plugin-sdk'

/** Principal of the user who started the process and uses its standard streams. */
export const OWNER: Principal = { id: 'local', role: 'owner', scopes: ['*'] }

/** Principal of the same user with `--read-only`: sees and calls only tools that change nothing. */
export const READER: Principal = { id: 'local', role: 'read', scopes: ['*'] }

/**
 * Roles that see only tools that change nothing. An anonymous caller reached the server from another machine, without a
 * token.
 */
const READ_ONLY_ROLES: ReadonlySet<string> = new Set(['read', 'anonymous'])

/** Properties that determine who sees a tool, resource or prompt. */
export interface Guarded {
  readonly scopes: readonly string[]
  readonly readOnly: boolean
}

/** Returns whether a principal sees a tool; to the principal, an invisible tool does not exist. */
export function maySeeTool(principal: McpPrincipal, tool: Guarded & { readonly name: string }): boolean {
  return (principal.tools?.has(tool.name) ?? true) && mayHave(principal, tool)
}

/** Returns whether a principal sees a resource or a prompt. */
export function maySee(principal: McpPrincipal, item: Guarded): boolean {
  return principal.tools === undefined && mayHave(principal, item)
}

function mayHave(principal: Principal, { scopes, readOnly }: Guarded): boolean {
  if (!readOnly && READ_ONLY_ROLES.has(principal.role)) return false
  return principal.scopes.includes('*') || scopes.every(scope => principal.scopes.includes(scope))
}

/** The HTTP request of a client. */
export type HttpRequestCaller = Pick<HttpCaller, 'requestId' | 'recordError'>

/** Wraps a principal and its request as the SDK's `AuthInfo`, which the SDK passes to every server. */
export function authInfoOf(principal: Principal, caller: HttpRequestCaller | undefined): AuthInfo {
  return {
    token: '',
    clientId: principal.id,
    scopes: [...principal.scopes],
    extra: { principal, ...defined({ caller }) }
  }
}

/** Returns the HTTP request of a client; undefined over stdio. */
export function callerOf(auth: AuthInfo | undefined): HttpRequestCaller | undefined {
  return auth?.extra?.caller as HttpRequestCaller | undefined
}

/** Returns the principal of a request. Without `AuthInfo` it is the owner: the request came over stdio. */
export function principalOf(auth: AuthInfo | undefined): McpPrincipal {
  return (auth?.extra?.principal as McpPrincipal | undefined) ?? OWNER
}
