import type { IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AgentEvent, HttpUpgrade, UnitView } from '@svc/contracts'
import { WebSocketServer } from 'ws'
import type { Gate } from '../gate/gate.ts'
import { type Refusal, refusal } from '../gate/refusal.ts'
import { MAX_BODY_BYTES } from '../json-body.ts'
import { LISTENER } from '../routes.ts'
import type { ToolDispatcher } from '../tools/tool-dispatcher.ts'
import { SocketClient } from './client.ts'
import { serverMessage } from './message.ts'

const RETIRED = refusal('GWY_REPLACED', 503, 'the gateway is replaced')
const FULL = refusal('GWY_TOO_MANY_SOCKETS', 503, 'too many websockets are open')

/** Accepts handshakes at `/v1/ws`, and owns the open sockets. */
export class SocketEndpoint implements HttpUpgrade {
  readonly listener = LISTENER
  readonly path = '/v1/ws'
  readonly #gate: Gate
  readonly #dispatcher: ToolDispatcher
  readonly #maxClients: number
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_BODY_BYTES, clientTracking: false })
  readonly #clients = new Set<SocketClient>()
  /** Number of open sockets and pending handshakes. */
  #open = 0
  #retired = false
  /** This plugin's unit, once it serves. */
  unit: Pick<UnitView, 'enter' | 'exit'> | undefined

  constructor(gate: Gate, dispatcher: ToolDispatcher, maxClients: number) {
    this.#gate = gate
    this.#dispatcher = dispatcher
    this.#maxClients = maxClients
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { role, refusal } = this.#gate.checkUpgrade(request)
    const refused = refusal ?? (this.#retired ? RETIRED : this.#open >= this.#maxClients ? FULL : null)
    if (refused !== null) {
      reject(socket, refused)
      return
    }
    this.#open += 1
    socket.once('close', () => {
      this.#open -= 1
    })
    this.#server.handleUpgrade(request, socket, head, webSocket => {
      const client: SocketClient = new SocketClient(webSocket, {
        gate: this.#gate,
        dispatcher: this.#dispatcher,
        key: this.#gate.client(request),
        role,
        work: () => this.#work(),
        onClose: () => this.#clients.delete(client)
      })
      this.#clients.add(client)
    })
  }

  get clients(): number {
    return this.#clients.size
  }

  notify(event: AgentEvent): void {
    if (this.#clients.size === 0) return
    const text = serverMessage(undefined, 'agent_event', true, event)
    for (const client of this.#clients) client.notify(text)
  }

  beat(): void {
    for (const client of this.#clients) client.beat()
  }

  /** Closes all sockets after their running calls; clients reconnect to the new gateway. */
  retire(): void {
    this.#retired = true
    for (const client of this.#clients) client.retire()
  }

  #work(): () => void {
    const { unit } = this
    unit?.enter()
    return () => unit?.exit()
  }
}

/** Rejects a handshake with an HTTP response. */
function reject(socket: Duplex, { status, body, headers }: Refusal): void {
  const all = {
    ...headers,
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body))
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
