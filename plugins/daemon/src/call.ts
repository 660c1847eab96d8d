import type { KernelPort, OperationEntry, UnitView } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'
import { abortKey } from './cancel.ts'
import { type DaemonConnection, type QueuedRequest, writeLine } from './connection.ts'
import { daemonErrors } from './errors.ts'
import { errorFrame, eventFrame, progressFrame, type Request, resultFrame } from './frames.ts'
import { acceptedParams, describeMethods, type MethodTable } from './methods.ts'
import { paramsError } from './params-error.ts'

/** Principal of all authorized clients. */
const LOCAL: Principal = { id: 'local', role: 'owner', scopes: ['*'] }

export interface CallHost {
  readonly port: Pick<KernelPort, 'version'>
  /** Unit of this plugin, which must not be disposed during a call. */
  readonly unit: UnitView
  readonly methods: MethodTable
  /** Maximum buffered bytes of a connection; above it, a call that emits events is aborted. */
  readonly maxBufferedBytes: number
}

/** Runs a request and sends exactly one response. */
export async function runCall(
  connection: DaemonConnection,
  { request, reply }: QueuedRequest,
  host: CallHost
): Promise<void> {
  host.unit.enter()
  const call = new RunningCall(connection, request, host)
  try {
    reply(await call.respond())
  } finally {
    call.end()
    host.unit.exit()
  }
}

class RunningCall {
  readonly #connection: DaemonConnection
  readonly #request: Request
  readonly #host: CallHost
  readonly #controller = new AbortController()
  #slow = false

  constructor(connection: DaemonConnection, request: Request, host: CallHost) {
    this.#connection = connection
    this.#request = request
    this.#host = host
    const key = abortKey(request.id)
    const controllers = connection.calls.get(key) ?? new Set()
    connection.calls.set(key, controllers.add(this.#controller))
  }

  async respond(): Promise<string> {
    const request = this.#request
    let response: string
    try {
      // A result that cannot be serialized throws here, so that the response is an error.
      response = JSON.stringify(resultFrame(request, await this.#invoke()))
    } catch (error) {
      response = JSON.stringify(errorFrame(request, this.#slow ? slowReader(request) : error))
    }
    this.#flushProgress()
    return response
  }

  end(): void {
    const key = abortKey(this.#request.id)
    const controllers = this.#connection.calls.get(key)
    controllers?.delete(this.#controller)
    if (controllers?.size === 0) this.#connection.calls.delete(key)
  }

  async #invoke(): Promise<unknown> {
    const { method, params = {} } = this.#request
    const { methods, port } = this.#host
    if (method === 'rpc.discover') return describeMethods(methods, port.version)
    const known = methods.get(method)
    if (known === undefined) {
      throw daemonErrors.create('DMN_METHOD_UNKNOWN', `unknown method: ${method}`, {
        hint: 'rpc.discover lists the methods'
      })
    }
    if (typeof params !== 'object' || params === null || Array.isArray(params)) {
      throw daemonErrors.create('DMN_PARAMS_INVALID', `params of ${method} must be an object`)
    }
    return this.#enter(known.entry, acceptedParams(params, known))
  }

  async #enter(entry: OperationEntry, params: object): Promise<unknown> {
    const { traceparent, method, id } = this.#request
    try {
      return await entry.invoke(params, {
        surface: 'rpc',
        principal: LOCAL,
        signal: this.#controller.signal,
        ...(traceparent === undefined ? {} : { traceparent }),
        ...(this.#readsEvents(entry) ? { onEvent: this.#onEvent } : {}),
        ...(this.#request.progress === true && id !== undefined ? { onProgress: this.#onProgress } : {})
      })
    } catch (error) {
      throw paramsError(error, method, entry.descriptor.id)
    }
  }

  /** True if the client reads events. Clients of the original dialect do so only if the operation declares events. */
  #readsEvents(entry: OperationEntry): boolean {
    if (this.#request.id === undefined) return false
    return this.#request.dialect === 'rpc2' || entry.descriptor.events !== undefined
  }

  readonly #onEvent = (event: unknown): void => {
    if (this.#slow) return
    this.#flushProgress()
    writeLine(this.#connection, JSON.stringify(eventFrame(this.#request, event)))
    if (this.#connection.output.writableLength <= this.#host.maxBufferedBytes) return
    this.#slow = true
    this.#controller.abort()
  }

  /** Sends progress. A slow client receives only the newest one. */
  readonly #onProgress = (done: number, total?: number, message?: string): void => {
    const progress = { done, ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) }
    const frame = JSON.stringify(progressFrame(this.#request, progress))
    if (this.#connection.blocked) this.#connection.heldProgress.set(this.#request, frame)
    else writeLine(this.#connection, frame)
  }

  #flushProgress(): void {
    const held = this.#connection.heldProgress.get(this.#request)
    if (held === undefined) return
    this.#connection.heldProgress.delete(this.#request)
    writeLine(this.#connection, held)
  }
}

function slowReader({ method }: Request): Error {
  return daemonErrors.create(
    'DMN_SLOW_READER',
    `${method} was aborted: the client did not read its events, and the buffer is full`,
    {
      hint: 'read events while the call runs, or raise plugins.daemon.max_buffered_bytes'
    }
  )
}
