import type {
  HttpCaller,
  McpPrincipal,
  McpToolListing,
  McpToolset,
  McpToolsetCall,
  McpToolsetResult
} from '@svc/contracts'
import type { Ref } from '@svc/plugin-sdk'
import type { Role } from '../gate/role.ts'
import type { Allowed } from './allowlist.ts'

/** Result of a call: the body over HTTP, or fields of a websocket message. */
export interface ToolAnswer {
  readonly success: boolean
  readonly is_error: boolean
  readonly result: unknown
  /** Error code for the access record; null for a success. Not sent. */
  readonly code: string | null
}

/** Arguments by name. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** Lists and calls tools for callers of a role. */
export class ToolDispatcher {
  readonly #toolset: Ref<McpToolset>
  /** Tools of the serving generation. */
  allowed: Allowed

  constructor(toolset: Ref<McpToolset>, allowed: Allowed) {
    this.#toolset = toolset
    this.allowed = allowed
  }

  principal(role: Role): McpPrincipal {
    return this.allowed.principals[role]
  }

  /** Returns the tools of a role, sorted by name. */
  list(role: Role): readonly McpToolListing[] {
    return this.#toolset.current.tools(this.principal(role))
  }

  names(role: Role): readonly string[] {
    return this.list(role).map(({ name }) => name)
  }

  has(role: Role, name: string): boolean {
    return this.principal(role).tools?.has(name) ?? false
  }

  /** Calls a tool. A failed tool resolves to a result with the error. */
  call(role: Role, name: string, args: ToolArguments, caller: ToolCaller): Promise<ToolAnswer> {
    const call = new ToolCall(this.principal(role), caller)
    return this.#toolset.current.call(name, args, call).then(result => {
      if (result !== null) return toAnswer(result)
      return failure(
        'MCP_TOOL_UNKNOWN',
        `unknown tool, or one that is not allowed here: ${name.slice(0, MAX_SHOWN_CHARACTERS)}`
      )
    })
  }
}

/** Caller that waits for the result: an HTTP exchange or a websocket. */
export type ToolCaller = Pick<HttpCaller, 'signal' | 'cancelled' | 'traceparent'> & { readonly requestId?: string }

class ToolCall implements McpToolsetCall {
  readonly principal: McpPrincipal
  declare readonly traceparent?: string
  declare readonly requestId?: string
  readonly #caller: ToolCaller

  constructor(principal: McpPrincipal, caller: ToolCaller) {
    this.principal = principal
    this.#caller = caller
    if (caller.traceparent !== undefined) this.traceparent = caller.traceparent
    if (caller.requestId !== undefined) this.requestId = caller.requestId
  }

  get signal(): AbortSignal {
    return this.#caller.signal
  }

  get cancelled(): boolean {
    return this.#caller.cancelled ?? this.#caller.signal.aborted
  }
}

/** Maximum length of an unknown name in an error. */
const MAX_SHOWN_CHARACTERS = 128

export function failure<A extends string>(code: A, error: string): ToolAnswer & { readonly code: A } {
  return { success: false, is_error: true, result: { error }, code }
}

/** Converts a tool result. `result` is the structured content; without any, the content blocks, or for a failure the text. */
function toAnswer(toolResult: McpToolsetResult): ToolAnswer {
  const { structuredContent, isError = false, _meta } = toolResult
  if (!isError) {
    return { success: true, is_error: false, result: structuredContent ?? unstructured(toolResult, false), code: null }
  }
  const { code = 'MCP_TOOL_FAILED' } = (_meta?.['svc/error'] ?? {}) as { readonly code?: string }
  return { success: false, is_error: true, result: structuredContent ?? unstructured(toolResult, true), code }
}

function unstructured({ content }: McpToolsetResult, isError: boolean): unknown {
  if (!isError) return { content }
  return { error: content.flatMap(block => (typeof block.text === 'string' ? block.text : [])).join('\n') }
}
