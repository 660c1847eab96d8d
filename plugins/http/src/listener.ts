import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpErrorForms, HttpListener } from '@svc/contracts'
import { endWith } from './end-socket.ts'
import { httpErrors } from './errors.ts'
import type { Front } from './front.ts'
import { withoutUpgrade } from './ignore-upgrade.ts'
import { newRequestId } from './request-id.ts'
import { hasSentRequest, lastRequestOn, notifyClosed, requestsOn } from './socket-exchanges.ts'
import { writeError } from './write-error.ts'

/** Handlers of a server; replaced on every flip. */
interface Slot {
  front: Pick<Front, 'request' | 'upgrade'> | null
  /** Format of errors before a front is set. */
  errors: HttpErrorForms
  onError(error: Error): void
}

/**
 * A server and its open sockets. The object outlives reloads of this plugin, so that the port stays bound. The only
 * code that it keeps from the old instance is in {@link openServer}.
 */
export interface HeldServer {
  readonly server: Server
  readonly slot: Slot
  readonly sockets: Set<Socket>
  /** Aborted if the server is bound again before its last connection has ended. */
  draining: AbortController | null
}

export interface ServerTimes {
  readonly request_timeout_ms: number
  readonly keep_alive_ms: number
}

/** Interval of Node's check for slow requests, in milliseconds. */
const TIMEOUT_CHECK_MS = 500

/** Creates a server without binding it. */
export function openServer(): HeldServer {
  const slot: Slot = { front: null, errors: 'envelope', onError: () => {} }
  const sockets = new Set<Socket>()
  // The guard rejects a missing Host header with the shared error format.
  const server = createServer({ connectionsCheckingInterval: TIMEOUT_CHECK_MS, requireHostHeader: false })
  // Node treats a connection as idle while its response is still being sent, and would cut it off. `drain` closes idle
  // connections instead.
  server.closeIdleConnections = () => {}
  const held: HeldServer = { server, slot, sockets, draining: null }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (held.draining !== null) response.setHeader('connection', 'close')
    if (slot.front !== null) slot.front.request(request, response)
    else writeError(response, starting(), newRequestId(request.headers['x-request-id']), slot.errors)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      withoutUpgrade(server, request, socket, head)
      return
    }
    // After an upgrade, the upgrade handler closes the socket.
    sockets.delete(socket as Socket)
    if (slot.front !== null) slot.front.upgrade(request, socket, head)
    else endWith(socket, starting(), newRequestId(undefined), slot.errors, request.url)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      notifyClosed(socket)
    })
  })
  server.on('clientError', (error: Error, socket: Duplex) => answerClientError(error, socket, slot.errors))
  server.on('error', error => {
    // Until the server listens, `bind` handles the error.
    if (server.listening) slot.onError(error)
  })
  return held
}

/** Sets the timeouts of a server. Takes effect immediately, even while it serves. */
export function setTimes(held: HeldServer, { request_timeout_ms, keep_alive_ms }: ServerTimes): void {
  held.server.requestTimeout = request_timeout_ms
  held.server.headersTimeout = Math.min(request_timeout_ms, 60_000)
  held.server.keepAliveTimeout = keep_alive_ms
}

export interface BindRequest {
  readonly listener: Pick<HttpListener, 'host' | 'port' | 'setting' | 'errors'>
  /** Plugin of the listener, for error messages. */
  readonly owner: string
}

/** Binds a server. Throws `HTTP_PORT_IN_USE` or `HTTP_BIND_FAILED`, with the address and its setting. */
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
 * Stops accepting connections, waits for requests in flight, and closes each connection after its response. Cuts off
 * the rest at the time limit. Returns early if the server is bound again. Leaves websockets to their owners.
 */
export async function drain(held: HeldServer, milliseconds: number): Promise<void> {
  const { server, sockets } = held
  if (!server.listening) return
  const again = new AbortController()
  held.draining = again
  server.close()
  for (const socket of sockets) {
    const response = lastRequestOn(socket)?.response
    // The socket has received nothing, or only part of a request.
    if (!hasSentRequest(socket)) socket.destroy()
    // The socket is idle, or still sends its last response.
    else if (response === undefined) socket.destroySoon()
    else {
      if (!response.headersSent) response.setHeader('connection', 'close')
      response.once('close', () => socket.end())
    }
  }
  await lastOf(sockets, milliseconds, again.signal)
  if (again.signal.aborted) return
  for (const socket of sockets) socket.destroy()
  // A closed server must not keep the last generation in memory.
  held.slot.front = null
}

/** Resolves when every socket has closed, at the time limit, or on abort. */
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

function bindError(
  cause: NodeJS.ErrnoException,
  { host, port, setting }: BindRequest['listener'],
  owner: string
): Error {
  const address = `${host}:${port}`
  if (cause.code === 'EADDRINUSE') {
    return httpErrors.create('HTTP_PORT_IN_USE', `port ${port} on ${host} is in use; the setting ${setting} chose it`, {
      plugin: owner,
      at: { path: setting },
      data: { host, port, setting },
      hint: `stop the process that listens there (ss -ltnp 'sport = :${port}'), or set ${setting} to a free port; to change only the host, restart`,
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
  return httpErrors.create('HTTP_STARTING', 'the server is starting', { data: { retryAfterMs: 1000 } })
}

/** Responds to invalid HTTP, oversized headers and slow requests. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, form: HttpErrorForms): void {
  // While a response is being sent, no error can be sent.
  const responding = [...requestsOn(socket)].some(({ response }) => response.headersSent && !response.writableFinished)
  if (error.code === 'ECONNRESET' || !socket.writable || responding) {
    socket.destroy()
    return
  }
  endWith(socket, clientError(error), newRequestId(undefined), form)
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
