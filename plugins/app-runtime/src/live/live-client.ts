import type { HttpExchange } from '@svc/contracts'
import type { RawData, WebSocket } from 'ws'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import type { StreamCaller } from '../auth/guard.ts'
import { runErrors } from '../errors.ts'
import type { ChangeFeed, Listener } from './change-feed.ts'
import type { Change } from './change-log.ts'
import { READ_TIMEOUT_MS } from './event-stream.ts'
import { type Admission, type LiveAccess, type Recheck, recheckOf, socketCaller } from './live-access.ts'
import { errorFacts, errorStatus } from './live-errors.ts'
import type { LiveTopics } from './live-topics.ts'
import type { QueryWatches } from './query-watches.ts'
import { slowClient } from './slow-client.ts'
import { answerMessage, type ClientMessage, errorMessageOf, readMessage, type WatchId } from './socket-messages.ts'
import type { QueryAnswer, ResultSink } from './watched-query.ts'

/** Maximum bytes in flight to a client. */
const MAX_IN_FLIGHT_BYTES = 65_536
/** Maximum topics and watched queries of one client, each. */
const MAX_STREAMS = 100
/** Time limit for a client's close frame, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000
/** Close codes of https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and its registry: restart, and try later. */
export const SERVICE_RESTART = 1012
const TRY_LATER = 1013

/** A topic of a client. */
interface Subscription {
  readonly listener: Listener
  /** Does nothing before the caller is admitted. */
  recheck: Recheck
  admit(admission: Admission): void
}

export interface LiveClientParts {
  readonly topics: LiveTopics
  readonly feed: ChangeFeed
  readonly watches: QueryWatches
  readonly access: LiveAccess
}

/** One websocket with its topics and watched queries. */
export class LiveClient {
  readonly #socket: WebSocket
  readonly #handshake: Pick<HttpExchange, 'request' | 'caller'>
  readonly #parts: LiveClientParts
  readonly #listeners = new Map<string, Subscription>()
  /** Functions that end the watched queries, by id. */
  readonly #watching = new Map<WatchId, () => void>()
  #caller: StreamCaller
  #hasAnswered = true
  #isClosed = false

  constructor(
    socket: WebSocket,
    handshake: Pick<HttpExchange, 'request' | 'caller'>,
    parts: LiveClientParts,
    onClose: () => void
  ) {
    this.#socket = socket
    this.#handshake = handshake
    this.#parts = parts
    this.#caller = socketCaller(handshake, null)
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('pong', () => {
      this.#hasAnswered = true
    })
    // Handled by the 'close' event, which follows each error.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#isClosed = true
      for (const { listener } of this.#listeners.values()) parts.feed.forget(listener)
      this.#listeners.clear()
      for (const end of this.#watching.values()) end()
      this.#watching.clear()
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
    const { position } = this.#parts.feed
    const all = [...this.#listeners.values()]
    for (const { recheck } of all) recheck(() => true)
    if (position === null || all.length === 0) return
    if (all.every(({ listener }) => this.#parts.feed.isCurrent(listener))) this.#send({ after_id: position })
  }

  /** Ends the topics of identities that have ended. */
  recheck(isMeant: IdentityFilter): void {
    for (const { recheck } of [...this.#listeners.values()]) recheck(isMeant)
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    try {
      this.#handle(readMessage(isBinary ? '' : String(data)))
    } catch (error) {
      this.#send(errorFacts(error))
    }
  }

  #handle(message: ClientMessage): void {
    switch (message.kind) {
      case 'auth':
        this.#caller = socketCaller(this.#handshake, message.bearer)
        return
      case 'subscribe':
        void this.#subscribe(message.topic, message.after)
        return
      case 'unsubscribe':
        this.#unsubscribe(message.topic)
        return
      case 'watch':
        void this.#watch(message.id, message.name, message.query)
        return
      case 'unwatch':
        this.#unwatch(message.id)
        this.#send({ unwatched: message.id })
    }
  }

  #unwatch(id: WatchId): void {
    this.#watching.get(id)?.()
    this.#watching.delete(id)
  }

  /** Sends the result of a query, and again after each change. An error of the first run ends the watch. */
  async #watch(id: WatchId, name: string, query: string): Promise<void> {
    this.#unwatch(id)
    // The client may have ended the watch, or begun another one with this id, before the first result.
    let isEnded = false
    const end = (): void => {
      isEnded = true
    }
    try {
      if (this.#watching.size >= MAX_STREAMS)
        throw runErrors.create('RUN_ARGUMENTS', `a connection can watch at most ${MAX_STREAMS} queries`)
      this.#watching.set(id, end)
      const watched = await this.#parts.watches.of(name, query, this.#caller)
      if (isEnded || this.#isClosed) return
      const first = await watched.first()
      if (isEnded || this.#isClosed || first.status !== 200) {
        watched.leave()
        if (isEnded || this.#isClosed) return
        this.#watching.delete(id)
        this.#socket.send(errorMessageOf(id, first, true), { binary: false })
        return
      }
      this.#watching.set(id, watched.add(this.#sink(id)))
    } catch (error) {
      if (isEnded) return
      if (this.#watching.get(id) === end) this.#watching.delete(id)
      this.#send({ watch: id, status: errorStatus(error), ended: true, ...errorFacts(error) })
    }
  }

  #sink(id: WatchId): ResultSink {
    return {
      send: (answer: QueryAnswer) => this.#sendSlowly(answerMessage(id, answer)),
      end: error => {
        this.#watching.delete(id)
        // The socket is closed with the feed.
        if (error !== null) this.#socket.send(errorMessageOf(id, error, true), { binary: false })
      }
    }
  }

  #unsubscribe(topic: string): void {
    const known = this.#listeners.get(topic)
    if (known !== undefined) this.#parts.feed.forget(known.listener)
    this.#listeners.delete(topic)
    this.#send({ unsubscribed: topic })
  }

  async #subscribe(topic: string, requested: number | null): Promise<void> {
    const known = this.#listeners.get(topic)
    if (known !== undefined) this.#parts.feed.forget(known.listener)
    let own: Subscription | null = null
    try {
      const tables = this.#parts.topics.tablesOf(topic)
      if (this.#listeners.size >= MAX_STREAMS)
        throw runErrors.create('RUN_ARGUMENTS', `a connection can subscribe to at most ${MAX_STREAMS} topics`)
      own = this.#subscription(topic, tables)
      this.#listeners.set(topic, own)
      const admission = await this.#parts.access.admit(this.#parts.topics.queriesOf(topic), this.#caller)
      if (this.#listeners.get(topic) !== own) return
      own.admit(admission)
      if (requested !== null) await this.#parts.feed.assertReachable(requested)
      const after = requested ?? (await this.#parts.feed.newest())
      // The subscription may have been cancelled or replaced.
      if (this.#listeners.get(topic) !== own) return
      this.#send({ subscribed: topic, after_id: after })
      await this.#parts.feed.listen(own.listener, after)
    } catch (error) {
      if (own !== null && this.#listeners.get(topic) === own) this.#listeners.delete(topic)
      this.#send({ ...errorFacts(error), topic })
    }
  }

  #subscription(topic: string, tables: ReadonlySet<string>): Subscription {
    let check: Admission['check'] = null
    const end = (reason: unknown): void => {
      this.#listeners.delete(topic)
      if (reason !== null) this.#send({ ...errorFacts(reason), topic })
    }
    const listener: Listener = {
      tables,
      receive: changes => {
        if (check === null) return this.#take(topic, changes)
        return check().then(() => this.#take(topic, changes), refused)
      },
      end
    }
    const refused = (error: unknown): void => {
      // A later subscription of the topic has another listener.
      if (this.#listeners.get(topic) !== own) return
      this.#parts.feed.forget(listener)
      end(error)
    }
    const own: Subscription = {
      listener,
      recheck: () => undefined,
      admit(admission) {
        check = admission.check
        own.recheck = recheckOf(admission, refused)
      }
    }
    return own
  }

  #take(topic: string, changes: readonly Change[]): Promise<void> | void {
    if (this.#isClosed || changes.length === 0) return
    const texts = changes.map(change => Buffer.from(JSON.stringify(this.#parts.topics.announce(topic, change))))
    const last = texts.pop() as Buffer
    for (const text of texts) this.#socket.send(text, { binary: false })
    return this.#sendSlowly(last)
  }

  /** Sends a message. Returns a promise while the client reads slowly, and disconnects it after a time limit. */
  #sendSlowly(message: Buffer): Promise<void> | void {
    const socket = this.#socket
    if (socket.readyState !== socket.OPEN) return
    if (socket.bufferedAmount < MAX_IN_FLIGHT_BYTES) {
      socket.send(message, { binary: false })
      return
    }
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.close(TRY_LATER, slowClient().message)
        resolve()
      }, READ_TIMEOUT_MS)
      socket.send(message, { binary: false }, () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #send(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message))
  }
}
