import { ServerCallContext } from '@a2a-js/sdk/server'
import type { Principal } from '@svc/plugin-sdk'

/** Rights over A2A: `a2a.send` sends messages and cancels; `a2a.read` reads tasks and changes their webhooks. */
export type A2aScope = 'a2a.send' | 'a2a.read'

export interface CallOptions {
  readonly principal: Principal
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** URL of the server as the client wrote it; undefined without a Host header. */
  readonly base?: string | undefined
  /** Value of `A2A-Version`; undefined if it was not sent. */
  readonly version?: string | undefined
  readonly extensions?: readonly string[]
  /** Number of the last event that the client has, from `Last-Event-ID`. */
  readonly lastEvent?: number | undefined
}

/** One call of the protocol, with its caller. */
export class A2aCall extends ServerCallContext {
  readonly principal: Principal
  readonly signal: AbortSignal
  readonly lastEvent: number | undefined
  readonly base: string | undefined
  /** Number of the event that a stream yielded last; null if it has none. */
  streamed: number | null = null
  /** Whether the parameters were decoded, and the operation began. */
  hasBegun = false

  constructor({ principal, signal, base, version, extensions = [], lastEvent }: CallOptions) {
    super({
      user: { isAuthenticated: principal.role !== 'anonymous', userName: principal.id },
      requestedExtensions: [...extensions],
      ...(version === undefined ? null : { requestedVersion: version })
    })
    this.principal = principal
    this.signal = signal
    this.lastEvent = lastEvent
    this.base = base
  }

  may(scope: A2aScope): boolean {
    const { scopes } = this.principal
    return scopes.includes('*') || scopes.includes(scope)
  }
}
