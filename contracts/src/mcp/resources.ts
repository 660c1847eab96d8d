import { point } from '@svc/plugin-sdk'
import type { McpCall } from './call.ts'
import type { McpContentAnnotations, McpIcon, McpResourceContents } from './content.ts'
import type { McpInputRequired } from './input-required.ts'

/** Resources with a fixed URI. */
export const mcpResources = point<McpResource>('mcp.resources', { keys: item => [item.uri] })

/** Families of resources under a URI template (RFC 6570). */
export const mcpResourceTemplates = point<McpResourceTemplate>('mcp.resource-templates', {
  keys: item => [item.uriTemplate]
})

interface ResourceCommon {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly annotations?: McpContentAnnotations
  readonly icons?: readonly McpIcon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** Scopes that the caller must hold to see and read it. */
  readonly scopes?: readonly string[]
}

export interface McpResource extends ResourceCommon {
  readonly uri: string
  /** Size of the content in bytes, when it is known. */
  readonly size?: number
  read(call: McpCall): McpReadOutcome | Promise<McpReadOutcome>
}

export interface McpResourceTemplate extends ResourceCommon {
  /** For example `file:///{path}`. */
  readonly uriTemplate: string
  /** Returns members for `resources/list`; if absent, the family appears only as a template. */
  list?(call: McpCall): readonly McpListedResource[] | Promise<readonly McpListedResource[]>
  /** Suggestions by variable, best first. */
  readonly complete?: Readonly<Record<string, McpCompleter>>
  /** Returns the contents. Must throw {@link mcpResourceNotFound} if the variables match no resource. */
  read(
    uri: string,
    variables: Readonly<Record<string, string | string[]>>,
    call: McpCall
  ): McpReadOutcome | Promise<McpReadOutcome>
}

export interface McpListedResource {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly size?: number
}

export type McpReadOutcome = { readonly contents: readonly McpResourceContents[] } | McpInputRequired

/**
 * Returns suggestions. `context` holds the arguments filled in so far. Clients receive at most the first 100 values.
 */
export type McpCompleter = (
  value: string,
  context: Readonly<Record<string, string>>
) => readonly string[] | Promise<readonly string[]>
