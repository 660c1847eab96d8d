import type { Principal } from '@svc/plugin-sdk'

/** The caller of an MCP request. */
export interface McpPrincipal extends Principal {
  /**
   * Restricts the caller to these tools, as far as its role and scopes allow them, without resources and prompts.
   * Undefined: every tool.
   */
  readonly tools?: ReadonlySet<string>
}
