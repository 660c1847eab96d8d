import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpCaller, HttpUpgrade } from '@svc/contracts'
import type { WebSocketServer } from 'ws'
import { type StreamParts, StreamSession } from './stream-session.ts'

/** Maximum size of a frame: 1 MiB, about 30 seconds of audio. */
const MAX_FRAME_BYTES = 1_048_576

/** The websocket of `/api/audio/transcribe/stream`. The websocket library is loaded at the first connection. */
export class StreamEndpoint implements HttpUpgrade {
  readonly path = '/api/audio/transcribe/stream'
  readonly #sessions = new Set<StreamSession>()
  readonly #parts: Omit<StreamParts, 'socket' | 'correlationId'>
  #server: Promise<WebSocketServer> | null = null
  #isClosed = false

  constructor(parts: Omit<StreamParts, 'socket' | 'correlationId'>) {
    this.#parts = parts
  }

  readonly handle: HttpUpgrade['handle'] = (request, socket, head, caller) => {
    this.#accept(request, socket, head, caller).catch(() => socket.destroy())
  }

  close(): void {
    this.#isClosed = true
    for (const session of this.#sessions) session.leave()
  }

  async #accept(request: IncomingMessage, socket: Duplex, head: Buffer, caller: HttpCaller): Promise<void> {
    this.#server ??= import('ws').then(
      ({ WebSocketServer: Server }) => new Server({ noServer: true, maxPayload: MAX_FRAME_BYTES })
    )
    const server = await this.#server
    server.handleUpgrade(request, socket, head, client => {
      const session = new StreamSession({ ...this.#parts, socket: client, correlationId: caller.requestId })
      this.#sessions.add(session)
      client.once('close', () => this.#sessions.delete(session))
      // The plugin was replaced while the library was loaded.
      if (this.#isClosed) session.leave()
    })
  }
}
