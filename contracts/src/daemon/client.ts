import { connect, type Socket } from 'node:net'
import { type CallOptions, isSvcError, SvcError } from '@svc/plugin-sdk'
import { daemonClientErrors } from './errors.ts'
import { orchPing } from './ping.ts'
import type { DaemonState } from './state.ts'

export interface DaemonCallOptions extends CallOptions {
  /** Default: the token of the daemon's state file. */
  readonly token?: string
}

/** Address of a daemon, and the token to send. */
export type DaemonAddress = Pick<DaemonState, 'socket'> & { readonly token?: string | null }

/**
 * Calls one method of a running daemon over a new connection.
 *
 * Throws the operation's error with its code, `DMN_UNREACHABLE` if nothing listens, `DMN_CONNECTION_LOST` if the daemon
 * closes the connection, `OPR_TIMEOUT` after `timeoutMs`, and `OPR_CANCELLED` if `signal` is aborted; the daemon then
 * cancels the call, too.
 */
export async function callDaemon(
  state: DaemonAddress,
  method: string,
  params: unknown = {},
  options: DaemonCallOptions = {}
): Promise<unknown> {
  const socket = await open(state.socket, options)
  try {
    return await exchange(socket, state, method, params, options)
  } finally {
    socket.destroy()
  }
}

/** Returns whether the daemon responds to `orch.ping` for its project within `timeoutMs` (default 1,000). */
export async function probeDaemon(state: DaemonState, options: DaemonCallOptions = {}): Promise<boolean> {
  try {
    const answer = await callDaemon(state, orchPing.id, {}, { timeoutMs: 1_000, ...options })
    return (answer as { repository_id?: unknown } | null)?.repository_id === state.repository_id
  } catch (error) {
    // A daemon that rejects the token is running, too.
    return isSvcError(error, 'DMN_UNAUTHORIZED')
  }
}

function open(address: string, { signal, timeoutMs }: DaemonCallOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled(address))
    const socket = connect(target(address))
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => settle(timedOut(address, timeoutMs)), timeoutMs)
    const onAbort = (): void => settle(cancelled(address))
    const settle = (error?: Error): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      socket.removeAllListeners('connect').removeAllListeners('error')
      if (error === undefined) {
        resolve(socket)
        return
      }
      // A refused connection can emit a second error after it was destroyed.
      socket.on('error', () => undefined).destroy()
      reject(error)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    socket.once('connect', () => settle())
    socket.once('error', error => settle(unreachable(address, error)))
  })
}

function target(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('/')) return { path: address }
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}

const AUTH_ID = 'auth'
const CALL_ID = 'call'

interface Frame {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown }
}

function exchange(
  socket: Socket,
  { socket: address, token: own }: DaemonAddress,
  method: string,
  params: unknown,
  options: DaemonCallOptions
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs, onEvent, onProgress, token = own } = options
    const send = (frame: object): void => void socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
    const settle = (error: Error | undefined, value?: unknown): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      socket.removeAllListeners('data').removeAllListeners('close')
      if (error === undefined) resolve(value)
      else reject(error)
    }
    // Closing the connection cancels the call in the daemon.
    const onAbort = (): void => settle(cancelled(method))
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => settle(timedOut(method, timeoutMs)), timeoutMs)
    const handle = (frame: Frame): void => {
      if (frame.method === '$/event') onEvent?.(frame.params?.event)
      else if (frame.method === '$/progress') {
        const { done, total, message } = frame.params ?? {}
        onProgress?.(Number(done), total as number | undefined, message as string | undefined)
      } else if (frame.error !== undefined) settle(errorOf(frame.error))
      else if (frame.id === CALL_ID) settle(undefined, frame.result)
    }
    // An error is always followed by `close`.
    socket.on('error', () => undefined)
    socket.once('close', () =>
      settle(
        daemonClientErrors.create(
          'DMN_CONNECTION_LOST',
          `the daemon at ${address} closed the connection during ${method}`
        )
      )
    )
    readLines(socket, line => {
      try {
        handle(JSON.parse(line) as Frame)
      } catch (cause) {
        if (cause instanceof SyntaxError) settle(badAnswer(address, line, cause))
        else settle(cause as Error)
      }
    })
    if (signal?.aborted) return settle(cancelled(method))
    signal?.addEventListener('abort', onAbort, { once: true })
    if (token) send({ id: AUTH_ID, method: '$/auth', params: { token } })
    send({ id: CALL_ID, method, params, ...(onProgress === undefined ? {} : { progress: true }) })
  })
}

function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') onLine(line)
  })
}

/** Returns the operation's error: the daemon sends its code, status and hint in `data`. */
function errorOf(error: NonNullable<Frame['error']>): SvcError {
  const data = (error.data ?? {}) as {
    code?: unknown
    status?: unknown
    hint?: unknown
    details?: unknown
    docs?: unknown
  }
  return new SvcError(typeof data.code === 'string' ? data.code : 'DMN_BAD_ANSWER', String(error.message), {
    ...(typeof data.status === 'number' ? { status: data.status } : {}),
    ...(typeof data.hint === 'string' ? { hint: data.hint } : {}),
    ...(typeof data.docs === 'string' ? { docs: data.docs } : {}),
    ...(data.details === undefined ? {} : { data: data.details })
  })
}

function unreachable(address: string, cause: Error): SvcError {
  return daemonClientErrors.create('DMN_UNREACHABLE', `no daemon responds at ${address}: ${cause.message}`, {
    hint: 'start one with: svc daemon start',
    cause
  })
}

function badAnswer(address: string, line: string, cause: Error): SvcError {
  return daemonClientErrors.create('DMN_BAD_ANSWER', `${address}: the response is not JSON: ${line.slice(0, 80)}`, {
    cause
  })
}

function cancelled(what: string): SvcError {
  return new SvcError('OPR_CANCELLED', `${what} was cancelled`, { status: 499 })
}

function timedOut(what: string, milliseconds: number): SvcError {
  return new SvcError('OPR_TIMEOUT', `${what} did not respond within ${milliseconds} ms`, { status: 504 })
}
