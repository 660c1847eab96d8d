import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { ChangeFeed } from './change-feed.ts'
import { LiveClient, SERVICE_RESTART } from './live-client.ts'
import type { LiveTopics } from './live-topics.ts'
import type { QueryWatches } from './query-watches.ts'

/** Maximum bytes of a client message. */
const MAX_MESSAGE_BYTES = 16_384

/** Sends results of queries and changes of topics over one websocket. */
export class LiveSockets {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #watches: QueryWatches
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES })
  readonly #clients = new Set<LiveClient>()
  #isClosed = false

  constructor(topics: LiveTopics, feed: ChangeFeed, watches: QueryWatches) {
    this.#topics = topics
    this.#feed = feed
    this.#watches = watches
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, webSocket => {
      if (this.#isClosed) {
        webSocket.close(SERVICE_RESTART)
        return
      }
      const onClose = (): boolean => this.#clients.delete(client)
      const client = new LiveClient(webSocket, this.#topics, this.#feed, this.#watches, onClose)
      this.#clients.add(client)
    })
  }

  beat(): void {
    for (const client of this.#clients) client.beat()
  }

  close(): void {
    this.#isClosed = true
    for (const client of this.#clients) client.close(SERVICE_RESTART, 'the program is being replaced')
  }
}
