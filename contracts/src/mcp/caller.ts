import type { Principal } from '@svc/plugin-sdk'

/** The caller of an MCP request. */
export interface McpPrincipal extends Principal {
  /**
   * Restricts the caller to those of these tools that its role and scopes allow, without resources and prompts.
   * Undefined: no restriction.
   */
  readonly tools?: ReadonlySet<string>
}
