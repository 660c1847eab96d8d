import { defined, type JsonSchema } from '@svc/plugin-sdk'
import type { McpContent } from './content.ts'

/**
 * Returned by a handler that needs something from the client before it can finish: an answer of the user, a
 * completion of the client's model, the client's roots.
 *
 * The handler is then called again from its start with {@link McpInputs} and {@link McpCall.state} filled in. A client
 * of the 2026 protocol repeats its request; for a client of the 2025 protocol the server asks during the request. The
 * handler cannot tell which.
 */
export interface McpInputRequired {
  readonly resultType: 'input_required'
  /** By key of the handler's choice; only kinds that the client declared are allowed. */
  readonly inputRequests?: Readonly<Record<string, McpInputRequest>>
  /**
   * JSON that returns as {@link McpCall.state}. It passes through the client, signed but readable: it cannot be
   * altered, but must not hold secrets.
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

/** Something that the user does in a browser. */
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

/** Asks the client for input. At least one request or a state must be given. */
export function mcpInputRequired(
  inputRequests: Readonly<Record<string, McpInputRequest>>,
  state?: unknown
): McpInputRequired {
  return { resultType: 'input_required', inputRequests, ...defined({ state }) }
}

/** A form for the user. `requestedSchema` is an object schema whose properties are primitive. */
export function mcpElicit(message: string, requestedSchema: JsonSchema): McpInputRequest {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/** A page that the user visits. */
export function mcpElicitUrl(message: string, url: string): McpInputRequest {
  return { method: 'elicitation/create', params: { mode: 'url', message, url } }
}

/** A completion by the client's model. */
export function mcpSample(params: McpSample): McpInputRequest {
  return { method: 'sampling/createMessage', params }
}

/** The folders that the client works in. */
export function mcpListRoots(): McpInputRequest {
  return { method: 'roots/list', params: {} }
}

/** Answers of the client to the requests of the previous round. Untrusted: check them like any other input. */
export interface McpInputs {
  /** Undefined while there is no answer under this key. */
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
