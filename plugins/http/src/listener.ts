import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpErrorForm, HttpListener } from '@svc/contracts'
import { endWith } from './end-socket.ts'
import { httpErrors } from './errors.ts'
import type { Front } from './front.ts'
import { withoutUpgrade } from './ignore-upgrade.ts'
import { requestIdOf } from './request-id.ts'
import { carriedBy, hasCarried, lastCarriedBy, loseAll } from './socket-exchanges.ts'
import { writeError } from './write-error.ts'

/** Handlers of a server; replaced on every flip. */
interface Slot {
  front: Pick<Front, 'request' | 'upgrade'> | null
  /** Form of errors that no front answers. */
  errors: HttpErrorForm
  onError(error: Error): void
}

/**
 * A server and its open sockets. It outlives this plugin's reload, so that a port is bound once; it holds no code but
 * the few lines in {@link openServer}.
 */
export interface HeldServer {
  readonly server: Server
  readonly slot: Slot
  readonly sockets: Set<Socket>
  /** Aborted when it opens again before its last connection has ended. */
  draining: AbortController | null
}

export interface ServerTimes {
  readonly request_timeout_ms: number
  readonly keep_alive_ms: number
}

/** How often Node looks for requests that take too long to arrive, in milliseconds. */
const TIMEOUT_CHECK_MS = 500

/** A server that is not bound yet. */
export function openServer(): HeldServer {
  const slot: Slot = { front: null, errors: 'envelope', onError: () => {} }
  const sockets = new Set<Socket>()
  // A missing Host header is refused with a proper body by the guard.
  const server = createServer({ connectionsCheckingInterval: TIMEOUT_CHECK_MS, requireHostHeader: false })
  // Node takes a connection for idle whose answer is still on its way out, and would cut it off: `drain` sees to them.
  server.closeIdleConnections = () => {}
  const held: HeldServer = { server, slot, sockets, draining: null }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (held.draining !== null) response.setHeader('connection', 'close')
    if (slot.front !== null) slot.front.request(request, response)
    else writeError(response, starting(), requestIdOf(request.headers['x-request-id']), slot.errors)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      withoutUpgrade(server, request, socket, head)
      return
    }
    // The upgrade handler ends the socket.
    sockets.delete(socket as Socket)
    if (slot.front !== null) slot.front.upgrade(request, socket, head)
    else endWith(socket, starting(), requestIdOf(undefined), slot.errors)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      loseAll(socket)
    })
  })
  server.on('clientError', (error: Error, socket: Duplex) => answerClientError(error, socket, slot.errors))
  server.on('error', error => {
    // Before it is bound, `bind` gets the error.
    if (server.listening) slot.onError(error)
  })
  return held
}

/** Applies at once, also to a server that is serving. */
export function setTimes(held: HeldServer, { request_timeout_ms, keep_alive_ms }: ServerTimes): void {
  held.server.requestTimeout = request_timeout_ms
  held.server.headersTimeout = Math.min(request_timeout_ms, 60_000)
  held.server.keepAliveTimeout = keep_alive_ms
}

export interface BindRequest {
  readonly listener: HttpListener
  /** Plugin whose listener it is; an error is its error. */
  readonly owner: string
}

/** Binds. Throws `HTTP_PORT_IN_USE` or `HTTP_BIND_FAILED`, which name the address and the setting that chose it. */
export async function bind(held: HeldServer, { listener, owner }: BindRequest): Promise<void> {
  const { host, port, errors = 'envelope' } = listener
  held.slot.errors = errors
  held.draining?.abort()
  held.draining = null
  const { server } = held
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      server.off('listening', bound)
      reject(bindError(cause, listener, owner))
    }
    const bound = (): void => {
      server.off('error', failed)
      resolve()
    }
    server.once('error', failed)
    server.once('listening', bound)
    server.listen({ host, port, exclusive: true })
  })
}

/**
 * Stops accepting at once, ends connections with their next answer, and waits for running answers. Cuts off the rest at the
 * time limit. Returns early when the server is bound again. Websockets are left to their owners.
 */
export async function drain(held: HeldServer, milliseconds: number): Promise<void> {
  const { server, sockets } = held
  if (!server.listening) return
  const again = new AbortController()
  held.draining = again
  server.close()
  for (const socket of sockets) {
    const response = lastCarriedBy(socket)?.response
    // Nothing has arrived on it, or the beginning of a request.
    if (!hasCarried(socket)) socket.destroy()
    // It is idle, or the last answer is on its way out.
    else if (response === undefined) socket.destroySoon()
    else {
      if (!response.headersSent) response.setHeader('connection', 'close')
      response.once('close', () => socket.end())
    }
  }
  await lastOf(sockets, milliseconds, again.signal)
  if (again.signal.aborted) return
  for (const socket of sockets) socket.destroy()
  // A closed server must not hold on to the generation that it served last.
  held.slot.front = null
}

/** Resolves when every socket has closed, the time has passed or the signal is aborted. */
async function lastOf(sockets: ReadonlySet<Socket>, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (sockets.size === 0) return
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    const done = (): void => {
      clearTimeout(timer)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    for (const socket of sockets) {
      socket.once('close', () => {
        if (sockets.size === 0) done()
      })
    }
  })
}

function bindError(cause: NodeJS.ErrnoException, { host, port, setting }: HttpListener, owner: string): Error {
  const address = `${host}:${port}`
  if (cause.code === 'EADDRINUSE') {
    return httpErrors.create('HTTP_PORT_IN_USE', `port ${port} on ${host} is in use; the setting ${setting} chose it`, {
      plugin: owner,
      at: { path: setting },
      data: { host, port, setting },
      hint: `stop what listens there (ss -ltnp 'sport = :${port}'), or set ${setting} to a free port; to change only the host, restart`,
      cause
    })
  }
  return httpErrors.create('HTTP_BIND_FAILED', `cannot listen on ${address}, chosen by ${setting}: ${cause.message}`, {
    plugin: owner,
    at: { path: setting },
    data: { host, port, setting, reason: cause.code },
    cause
  })
}

function starting(): Error {
  return httpErrors.create('HTTP_STARTING', 'the server is about to serve', { data: { retryAfterMs: 1000 } })
}

/** Bytes that are not HTTP, headers too large, requests too slow. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, form: HttpErrorForm): void {
  // In the middle of an answer nothing can be said any more.
  const answering = [...carriedBy(socket)].some(({ response }) => response.headersSent && !response.writableFinished)
  if (error.code === 'ECONNRESET' || !socket.writable || answering) {
    socket.destroy()
    return
  }
  endWith(socket, clientError(error), requestIdOf(undefined), form)
}

function clientError(error: NodeJS.ErrnoException): Error {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return httpErrors.create('HTTP_HEADERS_TOO_LARGE', 'request line and headers are larger than 16 KiB together')
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return httpErrors.create('HTTP_REQUEST_TIMEOUT', 'the request did not arrive in time', {
      hint: 'request_timeout_ms in [plugins.http] sets the time'
    })
  }
  return httpErrors.create(
    'HTTP_MALFORMED',
    `the request is not valid HTTP: ${error.message.replace(/^Parse Error: /, '')}`
  )
}
