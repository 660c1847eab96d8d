import type { HttpUpgrade } from '@svc/contracts'
import { WebSocketServer } from 'ws'
import { type StreamParts, StreamSession } from './stream-session.ts'

/** Half a minute of sound in one frame. */
const MAX_FRAME_BYTES = 1_048_576

/** The websocket of `/api/audio/transcribe/stream`. */
export class StreamEndpoint implements HttpUpgrade {
  readonly path = '/api/audio/transcribe/stream'
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES })
  readonly #sessions = new Set<StreamSession>()
  readonly #parts: Omit<StreamParts, 'socket' | 'correlationId'>

  constructor(parts: Omit<StreamParts, 'socket' | 'correlationId'>) {
    this.#parts = parts
  }

  readonly handle: HttpUpgrade['handle'] = (request, socket, head, caller) => {
    this.#server.handleUpgrade(request, socket, head, client => {
      const session = new StreamSession({ ...this.#parts, socket: client, correlationId: caller.requestId })
      this.#sessions.add(session)
      client.once('close', () => this.#sessions.delete(session))
    })
  }

  close(): void {
    for (const session of this.#sessions) session.leave()
  }
}
