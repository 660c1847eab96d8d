import { defined, type JsonSchema } from '@svc/plugin-sdk'
import type { McpContent } from './content.ts'

/**
 * Result of a handler that needs input from the client before it can finish: form data from the user, a completion of
 * the client's model, or the client's roots.
 *
 * The handler is then called again from its start, with {@link McpInputs} and {@link McpCall.state} filled in. A client
 * of the 2026 protocol repeats its request. A client of the 2025 protocol is asked during the request. The handler need
 * not distinguish the two.
 */
export interface McpInputRequired {
  readonly resultType: 'input_required'
  /** Requests by a key that the handler chooses; the client must have declared support for their kinds. */
  readonly inputRequests?: Readonly<Record<string, McpInputRequest>>
  /**
   * JSON value that the next round receives as {@link McpCall.state}. It passes through the client, signed but
   * readable: it cannot be altered, but must not contain secrets.
   */
  readonly state?: unknown
}

export type McpInputRequest =
  | { readonly method: 'elicitation/create'; readonly params: McpElicitForm | McpElicitUrl }
  | { readonly method: 'sampling/createMessage'; readonly params: McpSample }
  | { readonly method: 'roots/list'; readonly params?: Readonly<Record<string, never>> }

/** A form: an object of primitive fields, described by the subset of JSON Schema that MCP allows. */
export interface McpElicitForm {
  readonly mode?: 'form'
  readonly message: string
  readonly requestedSchema: JsonSchema
}

/** A page that the user opens in a browser. */
export interface McpElicitUrl {
  readonly mode: 'url'
  readonly message: string
  readonly url: string
}

export interface McpSample {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: McpContent }[]
  readonly maxTokens: number
  readonly systemPrompt?: string
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
  readonly modelPreferences?: Readonly<Record<string, unknown>>
}

/** Asks the client for input. Pass at least one request or a state. */
export function mcpInputRequired(
  inputRequests: Readonly<Record<string, McpInputRequest>>,
  state?: unknown
): McpInputRequired {
  return { resultType: 'input_required', inputRequests, ...defined({ state }) }
}

/** Requests a form from the user. `requestedSchema` is an object schema whose properties are primitive. */
export function mcpElicit(message: string, requestedSchema: JsonSchema): McpInputRequest {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/** Requests that the user visits a page. */
export function mcpElicitUrl(message: string, url: string): McpInputRequest {
  return { method: 'elicitation/create', params: { mode: 'url', message, url } }
}

/** Requests a completion by the client's model. */
export function mcpSample(params: McpSample): McpInputRequest {
  return { method: 'sampling/createMessage', params }
}

/** Requests the folders that the client works in. */
export function mcpListRoots(): McpInputRequest {
  return { method: 'roots/list', params: {} }
}

/** Client's responses to the requests of the previous round. Untrusted: validate them like any other input. */
export interface McpInputs {
  /** Undefined if there is no response under this key. */
  elicited(key: string): McpElicited | undefined
  sampled(key: string): McpSampled | undefined
  roots(key: string): readonly McpRoot[] | undefined
}

export interface McpElicited {
  readonly action: 'accept' | 'decline' | 'cancel'
  /** Only with `accept`. */
  readonly content?: Readonly<Record<string, unknown>>
}

export interface McpSampled {
  readonly role: 'user' | 'assistant'
  readonly content: McpContent
  readonly model?: string
  readonly stopReason?: string
}

export interface McpRoot {
  readonly uri: string
  readonly name?: string
}
