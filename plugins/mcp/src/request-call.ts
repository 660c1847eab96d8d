import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type InputRequiredResult,
  type LoggingLevel,
  MissingRequiredClientCapabilityError,
  PROTOCOL_VERSION_META_KEY,
  type Server,
  type ServerContext,
  TRACEPARENT_META_KEY
} from '@modelcontextprotocol/server'
import type { McpClientCapabilities, McpInputRequired, McpInputs, McpLogLevel, McpPrincipal } from '@svc/contracts'
import { randomHex } from '@svc/plugin-sdk'
import type { ListView, Serving } from './handlers.ts'
import { type MintState, openState, readInputs, type SealedState, sealInputRequired } from './input-required.ts'
import { callerOf } from './principal.ts'
import type { ToolCall } from './tool-call.ts'

/** Adapts a client's request to the contract's `McpCall`, for every protocol version and transport. */
export class RequestCall implements ToolCall {
  readonly principal: McpPrincipal
  readonly protocolVersion: string
  readonly clientCapabilities: McpClientCapabilities
  readonly inputs: McpInputs
  readonly state: unknown
  readonly #context: ServerContext
  readonly #view: Serving['view']
  readonly #clientName: string
  readonly #mint: MintState
  readonly #boundTo: string
  #requestId: string | undefined
  /** Settles when all notifications so far are sent; they are sent in order, before the result. */
  #outgoing: Promise<void> = Promise.resolve()

  /** Throws the protocol's invalid-params error if the returned state belongs to another request or principal. */
  constructor(
    server: Server,
    context: ServerContext,
    { principal, mint, view }: Pick<Serving, 'principal' | 'mint' | 'view'>,
    subject: string
  ) {
    const { inputResponses, requestState, method } = context.mcpReq
    const envelope = (context.mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>
    this.#context = context
    this.#view = view
    this.#clientName = clientNameOf(server, context)
    this.#mint = mint
    this.#boundTo = `${method} ${subject}`
    this.principal = principal
    this.protocolVersion = String(envelope[PROTOCOL_VERSION_META_KEY] ?? server.getNegotiatedProtocolVersion())
    this.clientCapabilities = (envelope[CLIENT_CAPABILITIES_META_KEY] ??
      server.getClientCapabilities() ??
      {}) as McpClientCapabilities
    this.inputs = readInputs(inputResponses)
    this.state = openState(requestState<SealedState>(), { of: this.#boundTo, principal: principal.id })
  }

  get view(): ListView {
    return this.#view(this.#clientName, this.#context.http?.req?.url)
  }

  get requestId(): string {
    return (this.#requestId ??= callerOf(this.#context.http?.authInfo)?.requestId ?? randomHex(8))
  }

  /** Records the code of an error in the access record of the request, if it came over HTTP. */
  recordError(code: string): void {
    callerOf(this.#context.http?.authInfo)?.recordError?.(code)
  }

  get isOverHttp(): boolean {
    return this.#context.http !== undefined
  }

  get signal(): AbortSignal {
    return this.#context.mcpReq.signal
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  get traceparent(): string | undefined {
    const value = this.#context.mcpReq._meta?.[TRACEPARENT_META_KEY]
    return typeof value === 'string' ? value : undefined
  }

  progress(done: number, total?: number, message?: string): void {
    const progressToken = this.#context.mcpReq._meta?.progressToken
    if (progressToken === undefined) return
    const params = {
      progressToken,
      progress: done,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message })
    }
    this.#send(() => this.#context.mcpReq.notify({ method: 'notifications/progress', params }))
  }

  log(level: McpLogLevel, data: unknown, logger?: string): void {
    this.#send(() => this.#context.mcpReq.log(level as LoggingLevel, data, logger))
  }

  /** Resolves when all messages of the handler are sent. */
  flushed(): Promise<void> {
    return this.#outgoing
  }

  seal(required: McpInputRequired): Promise<InputRequiredResult> {
    return sealInputRequired(required, { of: this.#boundTo, principal: this.principal.id }, this.#mint)
  }

  /** Throws if the client did not declare a required capability. */
  demand(required: McpClientCapabilities): void {
    const missing = lacking(required, this.clientCapabilities)
    if (missing !== undefined) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: missing })
  }

  /** Sends a notification; drops it if the client has disconnected. */
  #send(notify: () => Promise<void>): void {
    this.#outgoing = this.#outgoing.then(notify).catch(() => undefined)
  }
}

/** Returns the name that a client sent with this request (2026) or with its handshake (2025); '' if it sent none. */
function clientNameOf(server: Server, { mcpReq }: ServerContext): string {
  const envelope = (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>
  const sent = envelope[CLIENT_INFO_META_KEY] as { readonly name?: unknown } | undefined
  return String(sent?.name ?? server.getClientVersion()?.name ?? '')
}

type Capabilities = Record<string, unknown>

/** Returns the part of `required` that is missing in `declared`; undefined if nothing is missing. */
function lacking(required: McpClientCapabilities, declared: McpClientCapabilities): Capabilities | undefined {
  const missing: Capabilities = {}
  for (const [name, demand] of Object.entries(required)) {
    const has = declared[name]
    if (has === undefined) missing[name] = demand
    else if (isObject(demand) && isObject(has)) {
      const inner = lacking(demand, has)
      if (inner !== undefined) missing[name] = inner
    }
  }
  return Object.keys(missing).length === 0 ? undefined : missing
}

function isObject(value: unknown): value is Capabilities {
  return typeof value === 'object' && value !== null
}
