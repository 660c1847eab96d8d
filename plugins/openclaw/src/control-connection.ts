import { skillsGatewayErrors } from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import type { WebSocket } from 'ws'
import { conceal, shownAddress } from './conceal.ts'
import { reasonOf, unauthorized } from './http-request.ts'
import { type JsonTable, tableOf, textOf } from './json-table.ts'

/** Version of the control plane protocol. */
export const PROTOCOL = 3

/** Maximum size of a received frame. */
const MAX_FRAME_BYTES = 16 * 2 ** 20

/** Time limit of the closing handshake, in milliseconds. */
const CLOSE_MS = 500

/** The connection ended before the response. The call may be repeated on another one. */
export class ConnectionLost extends Error {}

export interface ControlOptions {
  readonly url: string
  readonly token: string | undefined
  readonly requestTimeoutMs: number
  readonly challengeTimeoutMs: number
  /** Version of this plugin. */
  readonly version: string
  /** Aborted when the plugin is disposed. */
  readonly closing: AbortSignal
}

interface PendingRequest {
  resolve(payload: unknown): void
  reject(error: unknown): void
}

/**
 * One open connection to the control plane of a gateway:
 * 1. The gateway may send the event `connect.challenge` within `challengeTimeoutMs`.
 * 2. The method `connect` identifies the client, and the gateway responds with `hello-ok`.
 * 3. Responses are matched to requests by id.
 */
export class ControlConnection {
  readonly url: string
  readonly #socket: WebSocket
  readonly #options: ControlOptions
  readonly #pending = new Map<string, PendingRequest>()
  #lost: ConnectionLost | null = null
  #last = 0
  /** Number of received frames. */
  #receivedFrames = 0
  #challenged: () => void = () => undefined

  private constructor(socket: WebSocket, options: ControlOptions) {
    this.url = options.url
    this.#socket = socket
    this.#options = options
    socket.on('message', (data, isBinary) => {
      this.#receivedFrames += 1
      if (!isBinary) this.#onFrame(String(data))
    })
    socket.on('error', error => this.#end(reasonOf(error)))
    socket.on('close', (code, reason) => {
      const reasonText = String(reason)
      this.#end(`the connection was closed with code ${code}${reasonText === '' ? '' : `: ${reasonText}`}`)
    })
  }

  /**
   * Connects to a gateway. Throws `ConnectionLost` if it cannot connect or the connection ends, `SKG_PROTOCOL` for
   * another protocol, `SKG_UNAUTHORIZED`, `SKG_REFUSED` and `SKG_TIMEOUT`.
   */
  static async open(options: ControlOptions): Promise<ControlConnection> {
    const { WebSocket } = await import('ws')
    if (options.closing.aborted) throw new ConnectionLost('the plugin openclaw was disposed')
    const { url, requestTimeoutMs: handshakeTimeout, version, closing } = options
    const headers = { 'user-agent': `svc/${version}` }
    const socket = new WebSocket(url, {
      handshakeTimeout,
      maxPayload: MAX_FRAME_BYTES,
      headers,
      perMessageDeflate: false
    })
    const connection = new ControlConnection(socket, options)
    const stop = (): void => connection.#end('the plugin openclaw was disposed')
    closing.addEventListener('abort', stop, { once: true })
    try {
      await connection.#handshake()
      return connection
    } catch (error) {
      socket.terminate()
      throw error
    } finally {
      closing.removeEventListener('abort', stop)
    }
  }

  get isLost(): boolean {
    return this.#lost !== null
  }

  /** Calls a method. Throws `ConnectionLost`, `SKG_TIMEOUT`, `SKG_UNAUTHORIZED`, `SKG_REFUSED` and the signal's reason. */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#lost !== null) throw this.#lost
    const id = String(++this.#last)
    const framesBefore = this.#receivedFrames
    const { requestTimeoutMs, url } = this.#options
    let timer: NodeJS.Timeout | undefined
    const response = new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      timer = setTimeout(() => {
        const call = `${method} at ${shownAddress(url)}`
        reject(skillsGatewayErrors.create('SKG_TIMEOUT', `${call} took longer than ${requestTimeoutMs} ms`))
        // No frame arrived during the call: the gateway may have disappeared without a close.
        if (this.#receivedFrames === framesBefore) this.#socket.terminate()
      }, requestTimeoutMs)
      this.#socket.send(JSON.stringify({ type: 'req', id, method, params }), error => {
        if (error) this.#end(reasonOf(error))
      })
    })
    try {
      return await raceAbort(signal, response)
    } finally {
      clearTimeout(timer)
      this.#pending.delete(id)
    }
  }

  /** Closes the connection. Pending requests reject with `ConnectionLost`. */
  async close(): Promise<void> {
    const { CLOSED } = this.#socket
    if (this.#socket.readyState === CLOSED) return
    const closed = new Promise<void>(resolve => this.#socket.once('close', () => resolve()))
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_MS)
    this.#socket.close(1000)
    await closed
    clearTimeout(timer)
  }

  async #handshake(): Promise<void> {
    const { token, challengeTimeoutMs, version } = this.#options
    const challenged = new Promise<void>(resolve => {
      this.#challenged = resolve
    })
    await this.#opened()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, challengeTimeoutMs)
    })
    await Promise.race([challenged, late])
    clearTimeout(timer)
    const hello = tableOf(
      await this.request('connect', {
        minProtocol: PROTOCOL,
        maxProtocol: PROTOCOL,
        client: { id: 'svc', version, platform: process.platform, mode: 'backend' },
        role: 'operator',
        scopes: ['operator.read', 'operator.write'],
        caps: [],
        commands: [],
        permissions: {},
        auth: token === undefined ? {} : { token },
        locale: 'en-US',
        userAgent: `svc/${version}`
      })
    )
    if (hello?.type === 'hello-ok' && hello.protocol === PROTOCOL) return
    const response = hello?.type === 'hello-ok' ? `protocol ${String(hello.protocol)}` : 'no hello-ok'
    throw skillsGatewayErrors.create(
      'SKG_PROTOCOL',
      `${shownAddress(this.url)} responded to connect with ${response}; this plugin supports protocol ${PROTOCOL}`
    )
  }

  #opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.once('open', () => resolve())
      // The constructor's listener runs first, and has set the reason.
      this.#socket.once('close', () => reject(this.#lost))
    })
  }

  #onFrame(text: string): void {
    const frame = parsed(text)
    if (frame?.type === 'event') {
      if (frame.event === 'connect.challenge') this.#challenged()
      return
    }
    if (frame?.type !== 'res') return
    const pending = this.#pending.get(String(frame.id))
    if (pending === undefined) return
    if (frame.ok === true) pending.resolve(frame.payload ?? null)
    else pending.reject(this.#refusal(frame.error))
  }

  #refusal(error: unknown): Error {
    const table = tableOf(error)
    const [code, message] = [textOf(table, ['code']), textOf(table, ['message'])]
    const reason = [code, typeof error === 'string' ? error : message].filter(each => each !== null).join(': ')
    const text = `${shownAddress(this.url)} refused: ${conceal(reason, this.#options.token) || 'no reason was given'}`
    if (/unauthori[sz]ed|forbidden|auth_|authenticat/i.test(code ?? reason)) return unauthorized(text)
    return skillsGatewayErrors.create('SKG_REFUSED', text, code === null ? {} : { data: { code } })
  }

  #end(problem: string): void {
    this.#lost ??= new ConnectionLost(problem)
    for (const { reject } of this.#pending.values()) reject(this.#lost)
    // A failed socket receives nothing more.
    this.#socket.terminate()
  }
}

function parsed(text: string): JsonTable | null {
  try {
    return tableOf(JSON.parse(text))
  } catch {
    return null
  }
}
