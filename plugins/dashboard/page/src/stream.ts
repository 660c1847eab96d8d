import { loadConsole, storedToken } from './api.ts'
import type { ErrorInfo } from './protocol.ts'
import { connection, consoleState, session, unreachable } from './state.ts'

/** Changes of rows that a delta operation sent. */
export interface DeltaFrame {
  readonly cursor?: string
  readonly reset: boolean
  readonly upsert: readonly unknown[]
  readonly remove: readonly string[]
  readonly more: boolean
}

export interface StreamListener {
  value?(value: unknown): void
  delta?(delta: DeltaFrame): void
  error(error: ErrorInfo): void
}

interface Subscription {
  readonly id: number
  readonly operation: string
  readonly input: unknown
  readonly listener: StreamListener
  /** Cursor of the last delta, from which a new connection continues. */
  cursor: string | undefined
}

type ServerFrame =
  | { readonly t: 'ready'; readonly build: string; readonly generation: number }
  | {
      readonly t: 'data'
      readonly id: number
      readonly seq: number
      readonly value?: unknown
      readonly delta?: DeltaFrame
    }
  | { readonly t: 'error'; readonly id: number; readonly error: ErrorInfo }
  | { readonly t: 'gen'; readonly generation: number }
  | { readonly t: 'pong' }

const MIN_RETRY_MS = 250
const MAX_RETRY_MS = 5_000
/** Silence of the server after which the page asks whether it is still there, and time for the answer. */
const PING_AFTER_MS = 20_000
const PONG_MS = 10_000
const RELOADED = 1012
const SESSION_ENDED = 4401
/** The server did not answer, so that no close code arrives. */
const GONE = 1006

/** Connection to the server's stream of changes. Reconnects by itself and continues every subscription. */
class ChangeStream {
  readonly #subscriptions = new Map<number, Subscription>()
  #socket: WebSocket | null = null
  #ready = false
  #nextId = 1
  #retryMs = MIN_RETRY_MS
  #timer: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined

  constructor() {
    // The address of the console may be gone while an open socket lives on.
    unreachable.subscribe(count => {
      if (count > 0) this.#lose()
    })
    document.addEventListener('visibilitychange', () => {
      if (this.#ready) this.#send({ t: 'visible', visible: !document.hidden })
    })
  }

  /** Watches an operation's output. Returns the function that ends it. */
  subscribe(operation: string, input: unknown, listener: StreamListener): () => void {
    const subscription: Subscription = { id: this.#nextId++, operation, input, listener, cursor: undefined }
    this.#subscriptions.set(subscription.id, subscription)
    this.#open()
    if (this.#ready) this.#announce(subscription)
    return () => {
      this.#subscriptions.delete(subscription.id)
      if (this.#ready) this.#send({ t: 'unsub', id: subscription.id })
    }
  }

  /** Opens the connection, which also reports new generations. */
  start(): void {
    this.#open()
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#silence)
    this.#socket?.close()
    this.#socket = null
  }

  /** Gives up a connection whose server does not answer. */
  #lose(): void {
    const socket = this.#socket
    if (socket === null || !this.#ready) return
    this.#closed(GONE)
    socket.close()
  }

  /** Expects a frame of the server within a time, and otherwise asks for one. */
  #listen(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => {
      this.#send({ t: 'ping' })
      this.#silence = setTimeout(() => this.#lose(), PONG_MS)
    }, PING_AFTER_MS)
  }

  #open(): void {
    if (this.#socket !== null || session.value === null) return
    clearTimeout(this.#timer)
    if (connection.value !== 'lost') connection.value = 'connecting'
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const socket = new WebSocket(`${scheme}://${location.host}/ui/stream`)
    this.#socket = socket
    socket.onopen = () => this.#send({ t: 'hello', token: storedToken() })
    socket.onmessage = ({ data }) => {
      if (this.#socket === socket) this.#receive(JSON.parse(data as string) as ServerFrame)
    }
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#closed(code)
    }
  }

  #closed(code: number): void {
    this.#socket = null
    this.#ready = false
    clearTimeout(this.#silence)
    if (code === SESSION_ENDED) {
      session.value = null
      return
    }
    connection.value = 'lost'
    const wait = code === RELOADED ? 0 : this.#retryMs
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS)
    this.#timer = setTimeout(() => this.#open(), wait)
  }

  #receive(frame: ServerFrame): void {
    this.#listen()
    if (frame.t === 'pong') return
    if (frame.t === 'ready') this.#onReady(frame.build, frame.generation)
    else if (frame.t === 'gen') void loadConsole().catch(() => {})
    else if (frame.t === 'error') this.#subscriptions.get(frame.id)?.listener.error(frame.error)
    else this.#onData(frame)
  }

  #onReady(build: string, generation: number): void {
    const known = consoleState.value
    if (known !== null && build !== known.build) {
      // The server was updated: the files of this page are gone.
      location.reload()
      return
    }
    this.#ready = true
    this.#retryMs = MIN_RETRY_MS
    connection.value = 'open'
    if (known !== null && known.generation !== generation) void loadConsole().catch(() => {})
    for (const subscription of this.#subscriptions.values()) this.#announce(subscription)
    if (document.hidden) this.#send({ t: 'visible', visible: false })
  }

  #onData({ id, seq, value, delta }: Extract<ServerFrame, { t: 'data' }>): void {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    if (delta === undefined) subscription.listener.value?.(value)
    else {
      subscription.cursor = delta.cursor
      subscription.listener.delta?.(delta)
    }
    afterDrawing(() => this.#send({ t: 'ack', id, seq }))
  }

  #announce({ id, operation, input, cursor }: Subscription): void {
    this.#send({ t: 'sub', id, operation, input, ...(cursor === undefined ? {} : { since: cursor }) })
  }

  #send(frame: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame))
  }
}

/** Calls back after the browser has drawn; a hidden page does not draw. */
function afterDrawing(callback: () => void): void {
  if (document.hidden) setTimeout(callback, 0)
  else requestAnimationFrame(() => setTimeout(callback, 0))
}

export const stream = new ChangeStream()
