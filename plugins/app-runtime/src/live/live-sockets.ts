import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorMessage, parseStrictJson } from '@svc/plugin-sdk'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { runErrors } from '../errors.ts'
import type { ChangeFeed, Listener } from './change-feed.ts'
import type { Change } from './change-log.ts'
import { READ_TIMEOUT_MS } from './event-stream.ts'
import { errorFacts } from './live-errors.ts'
import type { LiveTopics } from './live-topics.ts'
import { slowClient } from './slow-client.ts'

/** Maximum bytes in flight to a client. */
const MAX_IN_FLIGHT_BYTES = 65_536
/** Maximum bytes of a client message. */
const MAX_MESSAGE_BYTES = 16_384
/** Maximum topics of one client. */
const MAX_TOPICS = 100
/** Time limit for a client's close frame, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000
/** Close codes of https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and its registry: restart, and try later. */
const SERVICE_RESTART = 1012
const TRY_LATER = 1013

/** Sends changes of several topics over one websocket. */
export class LiveSockets {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES })
  readonly #clients = new Set<LiveClient>()
  #isClosed = false

  constructor(topics: LiveTopics, feed: ChangeFeed) {
    this.#topics = topics
    this.#feed = feed
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, webSocket => {
      if (this.#isClosed) {
        webSocket.close(SERVICE_RESTART)
        return
      }
      const client = new LiveClient(webSocket, this.#topics, this.#feed, () => this.#clients.delete(client))
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

type ClientMessage = { readonly subscribe: string; readonly after_id: number | null } | { readonly unsubscribe: string }

class LiveClient {
  readonly #socket: WebSocket
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #listeners = new Map<string, Listener>()
  #hasAnswered = true

  constructor(socket: WebSocket, topics: LiveTopics, feed: ChangeFeed, onClose: () => void) {
    this.#socket = socket
    this.#topics = topics
    this.#feed = feed
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('pong', () => {
      this.#hasAnswered = true
    })
    // Handled by the 'close' event, which follows each error.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      for (const listener of this.#listeners.values()) feed.forget(listener)
      this.#listeners.clear()
      onClose()
    })
  }

  /** Pings the client, or disconnects it if it did not respond to the last ping. */
  beat(): void {
    if (!this.#hasAnswered) {
      this.#socket.terminate()
      return
    }
    this.#hasAnswered = false
    this.#socket.ping()
    const { position } = this.#feed
    const listeners = [...this.#listeners.values()]
    if (position === null || listeners.length === 0) return
    if (listeners.every(listener => this.#feed.isCurrent(listener))) this.#send({ after_id: position })
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    try {
      const message = readMessage(isBinary ? '' : String(data))
      if ('unsubscribe' in message) this.#unsubscribe(message.unsubscribe)
      else void this.#subscribe(message.subscribe, message.after_id)
    } catch (error) {
      this.#send(errorFacts(error))
    }
  }

  #unsubscribe(topic: string): void {
    const listener = this.#listeners.get(topic)
    if (listener !== undefined) this.#feed.forget(listener)
    this.#listeners.delete(topic)
    this.#send({ unsubscribed: topic })
  }

  async #subscribe(topic: string, requested: number | null): Promise<void> {
    const known = this.#listeners.get(topic)
    if (known !== undefined) this.#feed.forget(known)
    let listener: Listener | null = null
    try {
      const tables = this.#topics.tablesOf(topic)
      if (this.#listeners.size >= MAX_TOPICS)
        throw runErrors.create('RUN_ARGUMENTS', `a connection can subscribe to at most ${MAX_TOPICS} topics`)
      listener = this.#listener(topic, tables)
      this.#listeners.set(topic, listener)
      if (requested !== null) await this.#feed.assertReachable(requested)
      const after = requested ?? (await this.#feed.newest())
      // The subscription may have been cancelled or replaced.
      if (this.#listeners.get(topic) !== listener) return
      this.#send({ subscribed: topic, after_id: after })
      await this.#feed.listen(listener, after)
    } catch (error) {
      if (listener !== null && this.#listeners.get(topic) === listener) this.#listeners.delete(topic)
      this.#send({ ...errorFacts(error), topic })
    }
  }

  #listener(topic: string, tables: ReadonlySet<string>): Listener {
    return {
      tables,
      receive: changes => this.#take(topic, changes),
      end: reason => {
        this.#listeners.delete(topic)
        if (reason !== null) this.#send({ ...errorFacts(reason), topic })
      }
    }
  }

  #take(topic: string, changes: readonly Change[]): Promise<void> | void {
    const socket = this.#socket
    if (socket.readyState !== socket.OPEN || changes.length === 0) return
    const texts = changes.map(change => JSON.stringify(this.#topics.announce(topic, change)))
    const last = texts.pop() as string
    for (const text of texts) socket.send(text)
    if (socket.bufferedAmount < MAX_IN_FLIGHT_BYTES) {
      socket.send(last)
      return
    }
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.close(TRY_LATER, slowClient().message)
        resolve()
      }, READ_TIMEOUT_MS)
      socket.send(last, () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #send(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message))
  }
}

/** Parses a client message. Throws `RUN_ARGUMENTS`. */
function readMessage(text: string): ClientMessage {
  let read: unknown
  try {
    read = parseStrictJson(text)
  } catch (error) {
    throw runErrors.create('RUN_ARGUMENTS', `the message is not accepted as JSON: ${errorMessage(error)}`)
  }
  const { subscribe, unsubscribe, after_id = null } = (read ?? {}) as Readonly<Record<string, unknown>>
  const isPosition = after_id === null || (Number.isSafeInteger(after_id) && Number(after_id) >= 0)
  if (typeof unsubscribe === 'string') return { unsubscribe }
  if (typeof subscribe === 'string' && isPosition) return { subscribe, after_id: after_id as number | null }
  throw runErrors.create(
    'RUN_ARGUMENTS',
    'a message must be {"subscribe": topic, "after_id": number} or {"unsubscribe": topic}'
  )
}
