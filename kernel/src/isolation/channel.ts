import { errorMessage } from '@svc/plugin-sdk'
import { kernelErrors } from '../core/errors.ts'
import { decodeError, type EncodedError, encodeError } from './remote-error.ts'

/** Ordered, bidirectional transport for structured clones. */
export interface Port {
  /** Sends a message. Throws if it contains a value that cannot be cloned, such as a function. */
  post(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
}

/** Requests that one peer handles: payload and result by method name. */
export type Methods = Readonly<Record<string, readonly [payload: unknown, result: unknown]>>

export interface RequestOptions {
  /** Cancels the request in the peer. The request still settles with the peer's reply. */
  readonly signal?: AbortSignal | undefined
  readonly onEvent?: ((event: unknown) => void) | undefined
  readonly onProgress?: ((done: number, total?: number, message?: string) => void) | undefined
}

/** Context of a request for its handler. */
export interface Exchange {
  /** Aborted when the requesting peer cancels or ends. */
  readonly signal: AbortSignal
  emit(event: unknown): void
  progress(done: number, total?: number, message?: string): void
}

export type Handlers<In extends Methods> = {
  readonly [M in keyof In]: (payload: In[M][0], exchange: Exchange) => In[M][1] | Promise<In[M][1]>
}

type ChannelMessage =
  | { readonly type: 'request'; readonly id: number; readonly method: string; readonly payload: unknown }
  | { readonly type: 'notice'; readonly method: string; readonly payload: unknown }
  | { readonly type: 'result'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: EncodedError }
  | { readonly type: 'event'; readonly id: number; readonly value: unknown }
  | { readonly type: 'progress'; readonly id: number; readonly value: Parameters<Exchange['progress']> }
  | { readonly type: 'cancel'; readonly id: number }

interface Pending extends RequestOptions {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Requests with events, progress and cancellation, and notices without a reply, over a {@link Port}. */
export class Channel<Out extends Methods, In extends Methods> {
  readonly #owner: string
  readonly #port: Port
  readonly #handlers: Handlers<In>
  readonly #pending = new Map<number, Pending>()
  readonly #running = new Map<number, AbortController>()
  #last = 0
  #closed: Error | undefined

  /** `owner`: plugin that errors name. */
  constructor(owner: string, port: Port, handlers: Handlers<In>) {
    this.#owner = owner
    this.#port = port
    this.#handlers = handlers
    port.onMessage(message => this.#receive(message as ChannelMessage))
  }

  /**
   * Sends a request. Rejects with the peer's error, with `KRN_NOT_REMOTABLE`, or with the error that closed the
   * channel.
   */
  request<M extends keyof Out & string>(
    method: M,
    payload: Out[M][0],
    options: RequestOptions = {}
  ): Promise<Out[M][1]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    const id = (this.#last += 1)
    const { signal } = options
    const cancel = (): void => this.#port.post({ type: 'cancel', id })
    const result = new Promise<Out[M][1]>((resolve, reject) => {
      this.#post({ type: 'request', id, method, payload })
      this.#pending.set(id, { ...options, resolve, reject })
    })
    if (signal === undefined) return result
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return result.finally(() => signal.removeEventListener('abort', cancel))
  }

  notify<M extends keyof Out & string>(method: M, payload: Out[M][0]): void {
    if (this.#closed === undefined) this.#post({ type: 'notice', method, payload })
  }

  /** Rejects pending and later requests, and aborts running handlers. */
  close(error: Error): void {
    this.#closed = error
    for (const { reject } of this.#pending.values()) reject(error)
    for (const controller of this.#running.values()) controller.abort(error)
    this.#pending.clear()
    this.#running.clear()
  }

  #post(message: ChannelMessage): void {
    try {
      this.#port.post(message)
    } catch (cause) {
      const what =
        message.type === 'request' || message.type === 'notice' ? message.method : `the message "${message.type}"`
      const why = errorMessage(cause)
      throw kernelErrors.create(
        'KRN_NOT_REMOTABLE',
        `${this.#owner}: the data of ${what} cannot be sent to or from an isolated plugin: ${why}`,
        {
          plugin: this.#owner,
          hint: 'pass plain data: functions, promises and class instances cannot be sent',
          cause
        }
      )
    }
  }

  #receive(message: ChannelMessage): void {
    if (this.#closed !== undefined) return
    if (message.type === 'request') void this.#serve(message.id, message.method, message.payload)
    else if (message.type === 'notice') void this.#handle(message.method, message.payload, SILENT).catch(() => {})
    else if (message.type === 'cancel') this.#running.get(message.id)?.abort()
    else this.#settle(message)
  }

  #settle(message: Exclude<ChannelMessage, { type: 'request' | 'notice' | 'cancel' }>): void {
    const pending = this.#pending.get(message.id)
    if (pending === undefined) return
    try {
      if (message.type === 'event') pending.onEvent?.(message.value)
      else if (message.type === 'progress') pending.onProgress?.(...message.value)
      else if (message.type === 'result') pending.resolve(message.value)
      else pending.reject(decodeError(message.error))
      if (message.type === 'event' || message.type === 'progress') return
    } catch (error) {
      // A listener of the caller threw: its request fails, as in a single process.
      pending.reject(error as Error)
      this.#port.post({ type: 'cancel', id: message.id })
    }
    this.#pending.delete(message.id)
  }

  async #serve(id: number, method: string, payload: unknown): Promise<void> {
    const controller = new AbortController()
    this.#running.set(id, controller)
    const send = (message: ChannelMessage): void => {
      if (this.#running.has(id)) this.#post(message)
    }
    try {
      const value = await this.#handle(method, payload, {
        signal: controller.signal,
        emit: event => send({ type: 'event', id, value: event }),
        progress: (...steps) => send({ type: 'progress', id, value: steps })
      })
      send({ type: 'result', id, value })
    } catch (error) {
      send({ type: 'failure', id, error: encodeError(error) })
    } finally {
      this.#running.delete(id)
    }
  }

  async #handle(method: string, payload: unknown, exchange: Exchange): Promise<unknown> {
    const handler = this.#handlers[method]
    if (handler === undefined) throw new Error(`no handler for the request ${method}`)
    return handler(payload as never, exchange)
  }
}

const SILENT: Exchange = { signal: new AbortController().signal, emit: () => {}, progress: () => {} }
