import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly body: unknown
}

export interface Frame {
  readonly type: string
  readonly id: string
  readonly method: string
  readonly params: Readonly<Record<string, any>>
}

/** Response to a method; `drop` ends the connection, and `silence` sends nothing. */
export type Reply = { readonly payload: unknown } | { readonly error: unknown } | 'drop' | 'silence'

export interface FakeOptions {
  /** Responses by path; 404 for any other path. */
  http?: Readonly<Record<string, (request: Seen, response: ServerResponse) => void>>
  /** True to send a challenge. */
  readonly challenge?: boolean
  /** Response to `connect`. */
  hello?: Reply
  /** Response to every other method; default: an echo of the request. */
  reply?: (frame: Frame, connection: number) => Reply
}

export interface FakeGateway {
  readonly url: string
  readonly wsUrl: string
  readonly seen: Seen[]
  readonly frames: Frame[]
  /** Number of connections so far. */
  readonly connections: number
  /** Resolves when no connection is left. */
  idle(): Promise<void>
  close(): Promise<void>
}

const HELLO: Reply = {
  payload: { type: 'hello-ok', protocol: 3, policy: { tickIntervalMs: 15_000 }, auth: { role: 'operator', scopes: [] } }
}

/** Starts a gateway with HTTP and websocket on one port. */
export async function fakeGateway(t: Test, options: FakeOptions = {}): Promise<FakeGateway> {
  const seen: Seen[] = []
  const frames: Frame[] = []
  let connections = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const received = {
      method,
      url,
      authorization: headers.authorization,
      body: method === 'POST' ? await json(request) : null
    }
    seen.push(received)
    const answer = options.http?.[url]
    if (answer === undefined) response.writeHead(404).end(`nothing at ${url}`)
    else answer(received, response)
  }
  const server = createServer((request, response) => void serve(request, response))
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket: WebSocket) => {
    const number = ++connections
    const send = (frame: object): void => socket.send(JSON.stringify(frame))
    if (options.challenge !== false) {
      send({ type: 'event', event: 'connect.challenge', payload: { nonce: 'n', ts: 1 } })
    }
    socket.on('message', data => {
      const frame = JSON.parse(String(data)) as Frame
      frames.push(frame)
      const echo = { payload: { method: frame.method, params: frame.params } }
      const reply = frame.method === 'connect' ? (options.hello ?? HELLO) : (options.reply?.(frame, number) ?? echo)
      if (reply === 'silence') return
      if (reply === 'drop') return socket.terminate()
      // Unrelated frames may arrive before the response.
      send({ type: 'event', event: 'tick', payload: {}, seq: frames.length })
      send({ type: 'res', id: frame.id, ok: 'payload' in reply, ...reply })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  t.teardown(close)
  return {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    seen,
    frames,
    get connections() {
      return connections
    },
    async idle() {
      await Promise.all([...sockets.clients].map(socket => once(socket, 'close')))
    },
    close
  }
}

export const sendJson =
  (value: unknown) =>
  (_: Seen, response: ServerResponse): void =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
