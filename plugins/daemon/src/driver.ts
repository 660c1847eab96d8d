import type { Socket } from 'node:net'
import type { TokenCheck } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { type AnonymousAccess, digest, isOpen } from './access.ts'
import { type CallHost, runCall } from './call.ts'
import { cancel } from './cancel.ts'
import { abortCalls, type DaemonConnection, type QueuedRequest, type Reply, writeLine } from './connection.ts'
import { daemonErrors } from './errors.ts'
import {
  type Element,
  errorFrame,
  isMalformed,
  parseFrame,
  type Request,
  type RpcFrame,
  resultFrame,
  tooLong
} from './frames.ts'
import { type Line, takeLines } from './lines.ts'

export interface DriverSettings {
  readonly max_line_bytes: number
  readonly max_in_flight: number
}

export interface DriverHost extends CallHost {
  readonly settings: DriverSettings
  readonly anonymous: AnonymousAccess
  /** Accepted tokens. */
  readonly tokens: readonly string[]
  /** False once the plugin is disabled and waits for its running calls. */
  serving(): boolean
  /** Checks a token from an address. Null counts as a wrong one. */
  checkToken(token: string | null, address: string): TokenCheck
  /** Called before the first request, and after authentication. False if there is no room for the connection. */
  admits(connection: DaemonConnection): boolean
  onClose(connection: DaemonConnection): void
}

/** Maximum length of a line before authentication, in bytes. */
const MAX_UNKNOWN_LINE_BYTES = 8_192
/** Time limit for authentication, in milliseconds. */
const AUTH_TIMEOUT_MS = 10_000
/** Time limit for sending an error line, in milliseconds. */
const LAST_BYTES_MS = 1_000
/** Interval of blank lines to a client that closed its input, in milliseconds. */
const PROBE_MS = 100

/** Reads a connection for the serving unit. Attached in a flip, detached in the next one. */
export class Driver {
  readonly #connection: DaemonConnection
  readonly #host: () => DriverHost
  #authTimer: NodeJS.Timeout | undefined
  #probeTimer: NodeJS.Timeout | undefined

  constructor(connection: DaemonConnection, host: () => DriverHost) {
    this.#connection = connection
    this.#host = host
  }

  attach(): void {
    const { input, output } = this.#connection
    input.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onGone)
    output.on('drain', this.#onDrain).on('close', this.#onGone)
    if ((input as unknown) !== output) {
      // Stdio: the end of the input does not mean that the client is gone; only the end of the output does.
      input.on('close', this.#onEnd)
      output.on('error', this.#onGone)
    }
    this.#connection.pump = this.#pump
    const { anonymous, tokens } = this.#host()
    const { tokenDigest } = this.#connection
    // The token with which the client authenticated may have been replaced.
    if (anonymous !== 'all' && tokenDigest !== null && !tokens.some(token => digest(token) === tokenDigest))
      this.#close()
    else if (anonymous === 'none' && tokenDigest === null) this.#authTimer = setTimeout(this.#close, AUTH_TIMEOUT_MS)
    this.#pump()
    this.#probe()
  }

  detach(): void {
    clearTimeout(this.#authTimer)
    clearTimeout(this.#probeTimer)
    const { input, output } = this.#connection
    input.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onGone).off('close', this.#onEnd)
    output.off('drain', this.#onDrain).off('error', this.#onGone).off('close', this.#onGone)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#connection.output.writableEnded) return
    this.#connection.activeAt = performance.now()
    if (!this.#connection.begun && !this.#begins(chunk)) return
    const { settings, anonymous } = this.#host()
    const known = anonymous !== 'none' || this.#connection.tokenDigest !== null
    const limit = known ? settings.max_line_bytes : Math.min(settings.max_line_bytes, MAX_UNKNOWN_LINE_BYTES)
    for (const line of takeLines(this.#connection.lines, chunk, limit)) this.#onLine(line, limit)
    this.#pump()
  }

  /**
   * Checks the first byte. Returns false if there was only white space, or if it cannot start a request: then the
   * connection is closed. A web page can make a browser send bytes to a local port, but only after an HTTP request line
   * or TLS record.
   */
  #begins(chunk: Buffer): boolean {
    const first = chunk.find(byte => !BLANK.has(byte))
    if (first === undefined) return false
    this.#connection.begun = REQUEST_START.has(first) || (this.#connection.input as unknown) !== this.#connection.output
    if (this.#connection.begun) return true
    this.#write(JSON.stringify(errorFrame({ dialect: 'rpc2' }, foreignProtocol(first))))
    this.#close()
    return false
  }

  /**
   * Handles the end of the input. A client that pipes in requests still reads the responses, even to an unterminated
   * last line. A disconnected client looks the same until a write fails, so blank lines are written, which clients
   * ignore.
   */
  readonly #onEnd = (): void => {
    if (this.#connection.ended) return
    this.#onData(Buffer.from('\n'))
    this.#connection.ended = true
    this.#pump()
    this.#probe()
  }

  readonly #probe = (): void => {
    clearTimeout(this.#probeTimer)
    const { input, output, ended, inFlight, closed } = this.#connection
    // Not needed for stdio, where the output has its own `close` event.
    if ((input as unknown) !== output || !ended || inFlight === 0 || closed) return
    writeLine(this.#connection, '')
    this.#probeTimer = setTimeout(this.#probe, PROBE_MS)
  }

  readonly #onDrain = (): void => {
    const { heldProgress } = this.#connection
    this.#connection.blocked = false
    for (const frame of heldProgress.values()) writeLine(this.#connection, frame)
    heldProgress.clear()
    this.#pump()
  }

  readonly #onGone = (): void => {
    if (this.#connection.closed) return
    this.#connection.closed = true
    abortCalls(this.#connection)
    this.#connection.waiting.length = 0
    // A pending write may still fail; its error is ignored.
    this.#connection.output.on('error', () => undefined)
    this.#host().onClose(this.#connection)
  }

  /** Starts waiting requests within the limits, and pauses the input if too many wait. */
  readonly #pump = (): void => {
    const connection = this.#connection
    const host = this.#host()
    while (!connection.blocked && connection.inFlight < host.settings.max_in_flight) {
      const next = connection.waiting[0]
      if (next === undefined || (next.request.dialect === 'native' && connection.nativeRunning)) break
      connection.waiting.shift()
      connection.waitingBytes -= next.bytes
      const streams = host.methods.get(next.request.method)?.entry.descriptor.events === undefined ? 0 : 1
      connection.inFlight += 1
      connection.streams += streams
      if (next.request.dialect === 'native') connection.nativeRunning = true
      void runCall(connection, next, host).finally(() => {
        connection.inFlight -= 1
        connection.streams -= streams
        connection.activeAt = performance.now()
        if (next.request.dialect === 'native') connection.nativeRunning = false
        connection.pump()
      })
    }
    const full = connection.blocked || connection.waitingBytes > host.settings.max_line_bytes
    if (full) connection.input.pause()
    else if (!connection.ended && connection.input.isPaused()) connection.input.resume()
    if (connection.ended && connection.inFlight === 0 && connection.waiting.length === 0) connection.output.end()
  }

  #onLine(line: Line, limit: number): void {
    const connection = this.#connection
    if (connection.output.writableEnded) return
    const frame = line === null ? tooLong(limit, connection.dialect) : parseFrame(line, connection.dialect)
    if (frame !== null) this.#onFrame(frame, line?.length ?? 0)
  }

  #onFrame(frame: RpcFrame, bytes: number): void {
    if (!frame.batch) {
      this.#connection.dialect = frame.element.dialect
      if (!this.#onElement(frame.element, this.#write, bytes)) this.#close()
      return
    }
    const responses: string[] = []
    let pending = frame.elements.length
    let isRefused = false
    const reply: Reply = response => {
      if (response !== undefined) responses.push(response)
      pending -= 1
      if (pending === 0 && responses.length > 0) this.#write(`[${responses.join(',')}]`)
    }
    this.#connection.dialect = 'rpc2'
    const isAuth = (element: Element): boolean => !isMalformed(element) && element.method === '$/auth'
    const [auth] = frame.elements.filter(isAuth)
    const queued: QueuedRequest[] = []
    for (const element of frame.elements) {
      // One comparison a line, so that a batch does not multiply guesses.
      if (isAuth(element) && element !== auth) this.#answerError(element as Request, reply, repeatedAuth())
      else if (isRefused) this.#answerError(element, reply, unauthorized('the line has no valid token'))
      else {
        const before = this.#connection.waiting.length
        isRefused = !this.#onElement(element, reply, Math.ceil(bytes / frame.elements.length))
        queued.push(...this.#connection.waiting.slice(before))
      }
    }
    if (!isRefused) return
    for (const { request } of queued) this.#failWaiting(request, unauthorized('the line has no valid token'))
    this.#close()
  }

  /** Handles one request. Returns false if the connection must be closed after the answer. */
  #onElement(element: Element, reply: Reply, bytes: number): boolean {
    if (isMalformed(element)) {
      reply(JSON.stringify(errorFrame(element, element.error)))
      return true
    }
    if (element.method === '$/auth') return this.#authenticate(element, reply)
    if (this.#needsToken(element)) return this.#refuse(element, reply)
    if (!this.#host().admits(this.#connection)) return this.#answerError(element, reply, allBusy())
    if (!this.#host().serving()) this.#answerError(element, reply, stopping())
    else if (element.method === '$/cancel')
      answer(element, reply, { cancelled: cancel(this.#connection, element, this.#drop) })
    else {
      const due: Reply = element.id === undefined ? () => reply(undefined) : reply
      this.#connection.waiting.push({ request: element, reply: due, bytes })
      this.#connection.waitingBytes += bytes
    }
    return true
  }

  #needsToken({ method, params }: Request): boolean {
    const { anonymous, methods } = this.#host()
    if (anonymous === 'all' || this.#connection.tokenDigest !== null || method === '$/cancel') return false
    return anonymous === 'none' || (methods.has(method) && !isOpen(method, params))
  }

  #authenticate(request: Request, reply: Reply): boolean {
    const { anonymous, tokens, checkToken } = this.#host()
    const token = (request.params as { token?: unknown } | null | undefined)?.token
    const address = (this.#connection.input as Partial<Socket>).remoteAddress ?? 'local'
    const { index, waitMs } = checkToken(typeof token === 'string' ? token : null, address)
    if (anonymous !== 'all' && index === null) {
      const message =
        typeof token === 'string'
          ? 'the first line must be $/auth with a valid token'
          : '$/auth requires params with a string token'
      return this.#answerError(request, reply, waitMs === 0 ? unauthorized(message) : tooManyTokens(waitMs))
    }
    clearTimeout(this.#authTimer)
    this.#connection.tokenDigest = index === null ? null : digest(tokens[index] as string)
    if (!this.#host().admits(this.#connection)) return this.#answerError(request, reply, allBusy())
    answer(request, reply, { ok: true })
    return true
  }

  /** Answers a request that requires a token. Returns false if all requests of the connection do. */
  #refuse(request: Request, reply: Reply): boolean {
    const all = this.#host().anonymous === 'none'
    const message = all
      ? 'the first line must be $/auth with a valid token'
      : `${request.method} requires the token of the daemon; send $/auth first`
    this.#answerError(request, reply, unauthorized(message))
    return !all
  }

  #answerError(element: Element, reply: Reply, error: SvcError): false {
    reply(element.id === undefined ? undefined : JSON.stringify(errorFrame(element, error)))
    return false
  }

  /** Rejects requests that have not started. */
  rejectWaiting(): void {
    for (const { request } of [...this.#connection.waiting]) this.#failWaiting(request, stopping())
  }

  /** Closes the connection with an error line, to make room for another. */
  makeRoom(reason: string): void {
    this.#write(tooManyConnections(reason))
    this.#close()
    // If the client does not read, flushing the output never ends.
    setTimeout(() => this.#connection.input.destroy(), LAST_BYTES_MS).unref()
  }

  readonly #drop = (request: Request): void => {
    const message = `${request.method} was cancelled before it started`
    this.#failWaiting(request, new SvcError('OPR_CANCELLED', message, { status: 499 }))
  }

  #failWaiting(request: Request, error: SvcError): void {
    const index = this.#connection.waiting.findIndex(each => each.request === request)
    const [waiting] = this.#connection.waiting.splice(index, 1)
    this.#connection.waitingBytes -= waiting?.bytes ?? 0
    waiting?.reply(JSON.stringify(errorFrame(request, error)))
  }

  readonly #write: Reply = json => {
    if (json !== undefined) writeLine(this.#connection, json)
  }

  /** Closes the connection after flushing the output. */
  readonly #close = (): void => {
    this.#connection.output.end(() => this.#connection.input.destroy())
  }
}

const BLANK: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'))
const REQUEST_START: ReadonlySet<number> = new Set(Buffer.from('{['))
/** First byte of a TLS handshake record. */
const TLS_HANDSHAKE = 0x16

function stopping(): SvcError {
  return new SvcError('OPR_UNAVAILABLE', 'the daemon is stopping', { status: 503 })
}

/** Returns the error line for a client whose connection is then closed. */
function tooManyConnections(reason: string): string {
  return JSON.stringify(errorFrame({ dialect: 'rpc2' }, noRoom(reason)))
}

function allBusy(): SvcError {
  return noRoom('all of them are busy')
}

function noRoom(reason: string): SvcError {
  return daemonErrors.create('DMN_TOO_MANY_CONNECTIONS', `the daemon has too many connections; ${reason}`, {
    hint: 'connect again, or raise plugins.daemon.max_connections'
  })
}

function unauthorized(message: string): SvcError {
  return daemonErrors.create('DMN_UNAUTHORIZED', message, {
    hint: 'the token is in .vox/daemon.json; plugins.daemon.token sets an additional one'
  })
}

function repeatedAuth(): SvcError {
  return daemonErrors.create('DMN_FRAME_INVALID', 'the request is invalid: a batch may have only one $/auth')
}

function tooManyTokens(waitMs: number): SvcError {
  return daemonErrors.create('DMN_TOO_MANY_TOKENS', 'too many wrong tokens were sent from this address', {
    hint: 'wait a minute, then send the token from .vox/daemon.json',
    data: { retryAfterMs: Math.ceil(waitMs) }
  })
}

function foreignProtocol(first: number): SvcError {
  const code = (first >= 0x41 && first <= 0x5a) || first === TLS_HANDSHAKE ? 'DMN_HTTP_CLIENT' : 'DMN_NOT_JSON'
  return daemonErrors.create(code, 'this port speaks newline-delimited JSON-RPC: the first byte must be { or [', {
    hint: 'for HTTP use the port of the http plugin, plugins.http.port'
  })
}

function answer(request: Request, reply: Reply, value: unknown): void {
  reply(request.id === undefined ? undefined : JSON.stringify(resultFrame(request, value)))
}
