import type { Principal } from '@svc/plugin-sdk'

/** The caller of an MCP request. */
export interface McpPrincipal extends Principal {
  /**
   * Names of the only tools that there are for it, of those that its role and scopes let it see; there are no resources and no
   * prompts for it then. Without it every tool is there.
   */
  readonly tools?: ReadonlySet<string>
}
