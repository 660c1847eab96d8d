import type { KernelPort } from '@svc/contracts'
import type { WebSocket } from 'ws'
import { dashboardErrors } from '../errors.ts'
import type { Session } from '../session/sessions.ts'
import { type Feed, MAX_FRAME_ROWS } from './feed.ts'
import type { Feeds } from './feeds.ts'
import { type ClientFrame, parseFrame, serverFrame, shownError } from './frames.ts'
import type { Subscriber } from './subscriber.ts'

/** Codes with which the server closes a connection. */
export const CLOSE = {
  goingAway: 1001,
  invalid: 1008,
  reload: 1012,
  signedOut: 4401,
  noAck: 4408
} as const

const MAX_SUBSCRIPTIONS = 64
/** Unsent bytes from which a socket gets no more frames. */
const MAX_BUFFERED_BYTES = 1_048_576
/** Unsent bytes from which a page is disconnected. Errors are sent to a full socket, too. */
const MAX_UNSENT_BYTES = 4 * MAX_BUFFERED_BYTES
const HELLO_MS = 5_000
const ACK_MS = 30_000
const PING_MS = 30_000
/** Maximum number of messages from a page between two checks, which are a second apart. */
const MAX_MESSAGES = 1_000

export interface ConnectionParts {
  readonly kernel: KernelPort
  readonly feeds: Feeds
  readonly session: Session
  /** Returns whether the token belongs to the session of the handshake. */
  readonly confirm: (token: string) => boolean
  /** Returns whether the session may have one more subscription, over all of its pages. */
  readonly maySubscribe: () => boolean
  readonly build: () => Promise<string>
  /** Generation that the console shows. */
  readonly generation: () => number
}

/** One page on the stream. */
export class Connection {
  readonly #socket: WebSocket
  readonly #parts: ConnectionParts
  readonly #subscriptions = new Map<number, Subscription>()
  readonly #opened = performance.now()
  #isConfirmed = false
  #isVisible = true
  #visibleSince = 0
  #messages = 0
  /** True while frames wait until the socket has sent enough. */
  #isBlocked = false
  #unsentGeneration: number | null = null
  #isAlive = true
  #pingedAt = performance.now()

  constructor(socket: WebSocket, parts: ConnectionParts) {
    this.#socket = socket
    this.#parts = parts
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('pong', () => {
      this.#isAlive = true
    })
  }

  get session(): string {
    return this.#parts.session.id
  }

  get isVisible(): boolean {
    return this.#isVisible
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#subscriptions.size
  }

  /** True if the socket takes more frames. */
  get isFree(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false
    this.#isBlocked = this.#socket.bufferedAmount > MAX_BUFFERED_BYTES
    return !this.#isBlocked
  }

  /** Closes the connection if its page does not answer. Called once a second. */
  check(now: number): void {
    this.#messages = 0
    if (!this.#isConfirmed) {
      if (now - this.#opened > HELLO_MS) this.close(CLOSE.signedOut, 'no hello')
      return
    }
    const isLate = ({ unackedSince }: Subscription): boolean =>
      unackedSince !== null && now - Math.max(unackedSince, this.#visibleSince) > ACK_MS
    if (this.#isVisible && [...this.#subscriptions.values()].some(isLate)) this.close(CLOSE.noAck, 'no ack')
    if (now - this.#pingedAt < PING_MS) return
    this.#pingedAt = now
    if (!this.#isAlive) this.#socket.terminate()
    else this.#socket.ping()
    this.#isAlive = false
  }

  /** Announces that the console changed. */
  announce(generation: number): void {
    if (!this.#isConfirmed) return
    if (this.isFree) this.send(serverFrame.generation(generation))
    else this.#unsentGeneration = generation
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
    this.end()
  }

  /** Ends all subscriptions. */
  end(): void {
    for (const id of [...this.#subscriptions.keys()]) this.#unsubscribe(id)
  }

  send(frame: string): void {
    // A page that asks and does not read would fill the memory. No error is sent, since it would not be read.
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) {
      this.#socket.terminate()
      return
    }
    this.#socket.send(frame, () => {
      if (!this.#isBlocked || !this.isFree) return
      if (this.#unsentGeneration !== null) this.announce(this.#unsentGeneration)
      this.#unsentGeneration = null
      for (const { feed } of this.#subscriptions.values()) feed.pump()
    })
  }

  #receive(data: unknown, isBinary: boolean): void {
    this.#messages += 1
    if (this.#messages > MAX_MESSAGES) {
      this.close(CLOSE.invalid, 'too many messages')
      return
    }
    try {
      if (isBinary) throw dashboardErrors.create('DSH_FRAME_INVALID', 'a message on the stream is not a text')
      const frame = parseFrame(String(data))
      if (this.#isConfirmed) this.#handle(frame)
      else this.#confirm(frame)
    } catch (error) {
      // The reason of a close may have 123 bytes.
      this.close(CLOSE.invalid, shownError(error).message.slice(0, 100))
    }
  }

  #confirm(frame: ClientFrame): void {
    if (frame.t !== 'hello' || !this.#parts.confirm(frame.token)) {
      this.close(CLOSE.signedOut, 'not signed in')
      return
    }
    this.#isConfirmed = true
    void this.#parts
      .build()
      .catch(() => 'none')
      .then(build => this.send(serverFrame.ready(build, this.#parts.generation())))
  }

  #handle(frame: ClientFrame): void {
    if (frame.t === 'sub') this.#subscribe(frame)
    else if (frame.t === 'unsub') this.#unsubscribe(frame.id)
    else if (frame.t === 'ack') this.#subscriptions.get(frame.id)?.acknowledge(frame.seq)
    else if (frame.t === 'ping') this.send(serverFrame.pong())
    else if (frame.t === 'visible') {
      this.#isVisible = frame.visible
      this.#visibleSince = performance.now()
      if (frame.visible) for (const { feed } of this.#subscriptions.values()) feed.pump()
    } else throw dashboardErrors.create('DSH_FRAME_INVALID', 'hello was sent twice')
  }

  #subscribe({ id, operation, input, since }: Extract<ClientFrame, { t: 'sub' }>): void {
    if (this.#subscriptions.has(id))
      throw dashboardErrors.create('DSH_FRAME_INVALID', `the subscription ${id} exists already`)
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      const error = dashboardErrors.create(
        'DSH_TOO_MANY_SUBSCRIPTIONS',
        `a page may watch ${MAX_SUBSCRIPTIONS} operations at a time`,
        { hint: 'close views that are not needed' }
      )
      this.send(serverFrame.error(id, error))
      return
    }
    if (!this.#parts.maySubscribe()) {
      const error = dashboardErrors.create(
        'DSH_TOO_MANY_SUBSCRIPTIONS',
        'the pages of this session watch the maximum number of operations',
        { hint: 'close pages that are not needed' }
      )
      this.send(serverFrame.error(id, error))
      return
    }
    const isDelta = this.#parts.kernel.current.operations.get(operation)?.descriptor.watch?.mode === 'delta'
    const { since: sent, limit, ...rest } = input
    const feed = this.#parts.feeds.open(operation, isDelta ? rest : input, this.#parts.session.role)
    const subscription = new Subscription(this, id, feed)
    if (isDelta) {
      const cursor = since ?? sent
      if (typeof cursor === 'string') subscription.cursor = cursor
      if (typeof limit === 'number' && limit >= 1) subscription.limit = Math.min(Math.floor(limit), MAX_FRAME_ROWS)
    }
    this.#subscriptions.set(id, subscription)
    feed.add(subscription)
  }

  #unsubscribe(id: number): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    this.#subscriptions.delete(id)
    subscription.feed.subscribers.delete(subscription)
    this.#parts.feeds.release(subscription.feed)
  }
}

class Subscription implements Subscriber {
  readonly feed: Feed
  readonly #connection: Connection
  readonly #id: number
  #seq = 0
  /** Time of the frame that the page has not acknowledged; null if there is none. */
  unackedSince: number | null = null
  #lastError: string | null = null
  seen = 0
  snapshot = 0
  cursor: string | undefined
  limit = MAX_FRAME_ROWS
  more = false
  servedAt = Number.NEGATIVE_INFINITY
  needsData = true

  constructor(connection: Connection, id: number, feed: Feed) {
    this.#connection = connection
    this.#id = id
    this.feed = feed
  }

  get isReady(): boolean {
    return this.unackedSince === null && this.#connection.isFree
  }

  get isVisible(): boolean {
    return this.#connection.isVisible
  }

  send(kind: 'value' | 'delta', json: string): void {
    this.#lastError = null
    this.#seq += 1
    this.unackedSince = performance.now()
    this.#connection.send(serverFrame.data(this.#id, this.#seq, kind, json))
  }

  acknowledge(seq: number): void {
    if (seq !== this.#seq || this.unackedSince === null) return
    this.unackedSince = null
    this.feed.pump()
  }

  fail(error: unknown): void {
    const { code, message } = shownError(error)
    const text = `${code} ${message}`
    if (text === this.#lastError) return
    this.#lastError = text
    this.#connection.send(serverFrame.error(this.#id, error))
  }
}
