import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpUpgrade, KernelPort } from '@svc/contracts'
import { WebSocketServer } from 'ws'
import { dashboardErrors } from '../errors.ts'
import type { Access } from '../session/access.ts'
import type { Sessions } from '../session/sessions.ts'
import { CLOSE, Connection } from './connection.ts'
import { Feeds } from './feeds.ts'

const MAX_CONNECTIONS = 200
/** A single session must not take all connections, and not fill the memory with outputs. */
const MAX_CONNECTIONS_PER_SESSION = 50
const MAX_SUBSCRIPTIONS_PER_SESSION = 500
/** The largest message subscribes; an input is a few fields of a filter. */
const MAX_MESSAGE_BYTES = 16_384
const CHECK_MS = 1_000

export interface StreamServerParts {
  readonly kernel: KernelPort
  readonly access: Access
  readonly sessions: Sessions
  readonly build: () => Promise<string>
  readonly generation: () => number
  readonly report: (error: unknown, operation: string) => void
  /** Called with true when the first page is opened, and with false when the last one is closed. */
  readonly onPages: (hasPages: boolean) => void
}

/** Websocket at `/ui/stream` that sends pages the output of watched operations. */
export class StreamServer implements HttpUpgrade {
  readonly path = '/ui/stream'
  readonly auth = 'own'
  readonly #parts: StreamServerParts
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES
  })
  readonly #connections = new Set<Connection>()
  readonly #feeds: Feeds
  readonly #timer: NodeJS.Timeout
  #isClosed = false

  constructor(parts: StreamServerParts) {
    this.#parts = parts
    this.#feeds = new Feeds(parts)
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref()
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { access, kernel, build, generation } = this.#parts
    const session = access.sessionOfHandshake(request)
    if (this.#isClosed || this.#connections.size >= MAX_CONNECTIONS)
      throw dashboardErrors.create(
        'DSH_TOO_MANY_CONNECTIONS',
        `the console accepts ${MAX_CONNECTIONS} open pages at a time`,
        { data: { retryAfterMs: 1_000 }, hint: 'close pages that are not needed' }
      )
    if (this.#connectionsOf(session.id).length >= MAX_CONNECTIONS_PER_SESSION)
      throw dashboardErrors.create(
        'DSH_TOO_MANY_CONNECTIONS',
        `a session may have ${MAX_CONNECTIONS_PER_SESSION} open pages at a time`,
        { data: { retryAfterMs: 1_000 }, hint: 'close pages that are not needed' }
      )
    this.#server.handleUpgrade(request, socket, head, client => {
      const confirm = (token: string): boolean => access.confirmHandshake(request, token)?.id === session.id
      const maySubscribe = (): boolean =>
        this.#connectionsOf(session.id).reduce((sum, { size }) => sum + size, 0) < MAX_SUBSCRIPTIONS_PER_SESSION
      const shared = { kernel, feeds: this.#feeds, build, generation }
      const connection = new Connection(client, { ...shared, session, confirm, maySubscribe })
      this.#connections.add(connection)
      if (this.#connections.size === 1) this.#parts.onPages(true)
      // A broken connection also emits `close`.
      client.on('error', () => {})
      client.once('close', () => {
        this.#connections.delete(connection)
        connection.end()
        if (this.#connections.size === 0) this.#parts.onPages(false)
      })
    })
  }

  /** Adapts to a new generation, and announces it to all pages. */
  refresh(): void {
    this.#feeds.refresh()
    this.announce()
  }

  /** Makes all pages load the state of the console again. */
  announce(): void {
    for (const connection of this.#connections) connection.announce(this.#parts.generation())
  }

  /** Closes the connections of a session that has ended. */
  endSession(session: string): void {
    for (const connection of this.#connectionsOf(session)) connection.close(CLOSE.signedOut, 'the session has ended')
  }

  /** Closes all connections. `reload`: the pages reconnect at once. */
  close(isReload: boolean): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    const [code, reason] = isReload ? [CLOSE.reload, 'reload'] : [CLOSE.goingAway, 'the server stops']
    for (const connection of this.#connections) connection.close(code, reason)
    this.#feeds.close()
  }

  #connectionsOf(session: string): Connection[] {
    return [...this.#connections].filter(connection => connection.session === session)
  }

  #check(): void {
    const now = performance.now()
    for (const connection of this.#connections) connection.check(now)
    const sessions = new Set([...this.#connections].map(({ session }) => session))
    for (const session of sessions) if (!this.#parts.sessions.isLive(session)) this.endSession(session)
  }
}
