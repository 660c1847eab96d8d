import { setMaxListeners } from 'node:events'
import type { RawData, WebSocket } from 'ws'
import type { Gate } from '../gate/gate.ts'
import { tooManyText } from '../gate/refusal.ts'
import type { Role } from '../gate/role.ts'
import type { ToolCallBody } from '../json-body.ts'
import type { ToolDispatcher } from '../tools/tool-dispatcher.ts'
import { type ClientMessage, isBad, type MessageId, readMessage, serverMessage } from './message.ts'

/** Maximum buffered bytes of a client. */
const MAX_BUFFERED_BYTES = 1_048_576
/** Maximum concurrent calls of one client. */
const MAX_CALLS = 32
/** Time limit for a client's token, and for its close frame, in milliseconds. */
const AUTH_MS = 10_000
const CLOSE_MS = 5_000
const UNAUTHORIZED = 4401
/** Websocket close codes: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and its registry. */
const POLICY_VIOLATION = 1008
const SERVICE_RESTART = 1012

/** Tool that a caller must be allowed to use in order to receive the orchestrator's events. */
const EVENTS_NEED = 'svc_orchestrator_status'

export interface ClientParts {
  readonly gate: Gate
  readonly dispatcher: ToolDispatcher
  /** Rate-limit key of the client. */
  readonly key: string
  /** Null until the first message with a valid token. */
  readonly role: Role | null
  /**
   * Marks the start of a call, so that the old gateway stays until the call ends. Returns the function that ends it.
   */
  work(): () => void
  onClose(): void
}

/** Open websocket of one client. */
export class SocketClient {
  readonly #socket: WebSocket
  readonly #parts: ClientParts
  readonly #disconnected = new AbortController()
  readonly #authTimer: NodeJS.Timeout | null
  #role: Role | null
  #calls = 0
  #isAlive = true
  #retiring = false

  constructor(socket: WebSocket, parts: ClientParts) {
    this.#socket = socket
    this.#parts = parts
    this.#role = parts.role
    // Each call adds a listener.
    setMaxListeners(0, this.#disconnected.signal)
    this.#authTimer = this.#role === null ? setTimeout(() => this.#refuse(), AUTH_MS).unref() : null
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('pong', () => {
      this.#isAlive = true
    })
    // An error is always followed by 'close'.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#settleAuth()
      this.#disconnected.abort(new Error('the client disconnected'))
      parts.onClose()
    })
  }

  /** Sends a serialised event, if the client may receive events. */
  notify(text: string): void {
    if (this.#role !== null && this.#parts.dispatcher.has(this.#role, EVENTS_NEED)) this.#send(text)
  }

  /** Sends a ping. Cuts off a client that did not respond to the last one. */
  beat(): void {
    if (!this.#isAlive) {
      this.#socket.terminate()
      return
    }
    this.#isAlive = false
    this.#socket.ping()
  }

  /** Accepts no more calls, and closes the socket after the running ones. */
  retire(): void {
    this.#retiring = true
    if (this.#calls === 0) this.close(SERVICE_RESTART, 'the gateway is replaced')
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    if (this.#retiring || this.#socket.readyState !== this.#socket.OPEN) return
    const { gate, key } = this.#parts
    if (!gate.admitsMessage(key)) {
      this.#send(serverMessage(undefined, 'error', false, null, tooManyText(gate.perMinute)))
      this.close(POLICY_VIOLATION, 'rate limit exceeded')
      return
    }
    const message = isBinary
      ? ({ type: 'error', error: 'invalid websocket payload: text is expected' } as const)
      : readMessage(String(data))
    const role = this.#role
    if (role === null) this.#authorise(isBad(message) ? null : message)
    else if (isBad(message)) this.#answer(message.id, message.type, false, null, message.error)
    else this.#serve(message, role)
  }

  #authorise(message: ClientMessage | null): void {
    const { gate, key } = this.#parts
    const role = message?.type === 'auth' ? gate.roleOfToken(message.token, key) : null
    if (role === null || typeof role === 'object') {
      this.#refuse()
      return
    }
    this.#role = role
    this.#settleAuth()
  }

  #serve(message: ClientMessage, role: Role): void {
    if (message.type === 'list_tools') {
      this.#answer(message.id, 'list_tools_result', true, { tools: this.#parts.dispatcher.names(role) })
    } else if (message.type === 'call_tool') void this.#call(message.id, message.call, role)
    // The client is already authenticated; another token has no effect.
  }

  async #call(id: MessageId | undefined, { name, args }: ToolCallBody, role: Role): Promise<void> {
    if (this.#calls >= MAX_CALLS) {
      this.#answer(id, 'call_tool_result', false, null, `too many calls at once (max ${MAX_CALLS})`)
      return
    }
    const done = this.#parts.work()
    this.#calls += 1
    try {
      const { success, result } = await this.#parts.dispatcher.call(role, name, args, {
        signal: this.#disconnected.signal
      })
      this.#answer(id, 'call_tool_result', success, result, success ? undefined : errorOf(result))
    } catch (error) {
      this.#answer(id, 'call_tool_result', false, null, (error as Error).message)
    } finally {
      this.#calls -= 1
      if (this.#retiring && this.#calls === 0) this.close(SERVICE_RESTART, 'the gateway is replaced')
      done()
    }
  }

  #answer(id: MessageId | undefined, type: string, success: boolean, data: unknown, error?: string): void {
    this.#send(serverMessage(id, type, success, data, error))
  }

  #send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    // Terminated without an error message, which a client that does not read would not receive.
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) this.#socket.terminate()
    else this.#socket.send(text)
  }

  #refuse(): void {
    this.close(UNAUTHORIZED, 'Unauthorized')
  }

  #settleAuth(): void {
    if (this.#authTimer !== null) clearTimeout(this.#authTimer)
  }
}

/** Returns the error message of a failed result. */
function errorOf(result: unknown): string {
  const { error } = (result ?? {}) as { readonly error?: unknown }
  return typeof error === 'string' ? error : 'the tool failed'
}
