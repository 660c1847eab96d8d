import { point } from '@svc/plugin-sdk'
import type { McpCall } from './call.ts'
import type { McpContent, McpIcon } from './content.ts'
import type { McpInputRequired } from './input-required.ts'
import type { McpCompleter } from './resources.ts'

/** Prompts that a user picks by name. */
export const mcpPrompts = point<McpPrompt>('mcp.prompts', { keys: item => [item.name] })

export interface McpPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly McpPromptArgument[]
  readonly icons?: readonly McpIcon[]
  readonly _meta?: Readonly<Record<string, unknown>>
  /** Scopes that the caller must hold to see and get it. */
  readonly scopes?: readonly string[]
  /** Called only if all required arguments are present; optional ones may be missing. */
  get(args: Readonly<Record<string, string>>, call: McpCall): McpPromptOutcome | Promise<McpPromptOutcome>
}

export interface McpPromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
  /** Suggestions, best first. */
  readonly complete?: McpCompleter
}

export type McpPromptOutcome =
  | {
      readonly description?: string
      readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: McpContent }[]
    }
  | McpInputRequired
