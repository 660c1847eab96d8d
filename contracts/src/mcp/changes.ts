import { hook, type SvcError } from '@svc/plugin-sdk'
import { mcpContributionErrors } from './errors.ts'

/**
 * Announces changes to MCP clients. The plugin mcp triggers it for list changes that come with a generation. Trigger it
 * yourself for changes without a reload: a tool became available, a template lists other members, a resource has new
 * content.
 */
export const mcpChanged = hook<[McpChange]>('mcp.changed', 'parallel', {
  onError: 'skip',
  summary: 'After the MCP tools, prompts or resources changed. A plugin may trigger it for a change without a reload.',
  payload: { kind: 'tools, prompts, resources or resource' }
})

export type McpChange =
  | { readonly kind: 'tools' }
  | { readonly kind: 'prompts' }
  | { readonly kind: 'resources' }
  /** The content of one resource changed; its subscribers are notified. */
  | { readonly kind: 'resource'; readonly uri: string }

/** Returns the error that a template throws if its variables match no resource. */
export function mcpResourceNotFound(uri: string): SvcError {
  return mcpContributionErrors.create('MCP_RESOURCE_NOT_FOUND', `no resource at ${uri}`, { data: { uri } })
}
