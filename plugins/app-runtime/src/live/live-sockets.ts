import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpCaller } from '@svc/contracts'
import { WebSocketServer } from 'ws'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import { LiveClient, type LiveClientParts, SERVICE_RESTART } from './live-client.ts'

/** Maximum bytes of a client message. */
const MAX_MESSAGE_BYTES = 16_384

/** Sends results of queries and changes of topics over one websocket. */
export class LiveSockets {
  readonly #parts: LiveClientParts
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES })
  readonly #clients = new Set<LiveClient>()
  #isClosed = false

  constructor(parts: LiveClientParts) {
    this.#parts = parts
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer, caller: HttpCaller): void {
    this.#server.handleUpgrade(request, socket, head, webSocket => {
      if (this.#isClosed) {
        webSocket.close(SERVICE_RESTART)
        return
      }
      const onClose = (): boolean => this.#clients.delete(client)
      const client = new LiveClient(webSocket, { request, caller }, this.#parts, onClose)
      this.#clients.add(client)
    })
  }

  beat(): void {
    for (const client of this.#clients) client.beat()
  }

  recheck(isMeant: IdentityFilter): void {
    for (const client of this.#clients) client.recheck(isMeant)
  }

  close(): void {
    this.#isClosed = true
    for (const client of this.#clients) client.close(SERVICE_RESTART, 'the program is being replaced')
  }
}
