import type { McpPrincipal, McpToolListing, McpToolset, McpToolsetCall, McpToolsetResult } from '@svc/contracts'
import type { Ref } from '@svc/plugin-sdk'
import type { Role } from '../gate/role.ts'
import type { Allowed } from './allowlist.ts'

/** What a call is answered, over HTTP as it is and over websockets as parts of a message. */
export interface ToolAnswer {
  readonly success: boolean
  readonly is_error: boolean
  readonly result: unknown
}

/** Arguments by name. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** Lists and calls tools for callers of a role. */
export class ToolDesk {
  readonly #toolset: Ref<McpToolset>
  /** Of the generation that serves. */
  allowed: Allowed

  constructor(toolset: Ref<McpToolset>, allowed: Allowed) {
    this.#toolset = toolset
    this.allowed = allowed
  }

  principal(role: Role): McpPrincipal {
    return this.allowed.principals[role]
  }

  /** By name. */
  list(role: Role): readonly McpToolListing[] {
    return this.#toolset.current.tools(this.principal(role))
  }

  names(role: Role): readonly string[] {
    return this.list(role).map(({ name }) => name)
  }

  has(role: Role, name: string): boolean {
    return this.principal(role).tools?.has(name) ?? false
  }

  /** Never rejects for what the tool does. */
  async call(
    role: Role,
    name: string,
    args: ToolArguments,
    call: Omit<McpToolsetCall, 'principal'> = {}
  ): Promise<ToolAnswer> {
    const result = await this.#toolset.current.call(name, args, { ...call, principal: this.principal(role) })
    if (result === null) return failure(`unknown tool, or one that is not allowed here: ${name.slice(0, MOST_SHOWN)}`)
    return answerOf(result)
  }
}

/** Characters of a name that somebody made up. */
const MOST_SHOWN = 128

export function failure(error: string): ToolAnswer {
  return { success: false, is_error: true, result: { error } }
}

/** The structured result; without one the blocks of content, and of a failure its text. */
function answerOf({ structuredContent, content, isError = false }: McpToolsetResult): ToolAnswer {
  const result =
    structuredContent !== undefined
      ? structuredContent
      : isError
        ? { error: content.flatMap(block => (typeof block.text === 'string' ? block.text : [])).join('\n') }
        : { content }
  return { success: !isError, is_error: isError, result }
}
