import {
  type HttpExchange,
  httpBodyErrors,
  isJsonMediaType,
  type KernelPort,
  type OperationEntry,
  parseJsonBody
} from '@svc/contracts'
import { defined, isSvcError, type Logger } from '@svc/plugin-sdk'
import { dashboardErrors } from './errors.ts'
import { EventStream, wantsEvents } from './event-stream.ts'
import { checkMayCall, principalOf, SURFACE } from './session/roles.ts'
import type { Session } from './session/sessions.ts'

/** Header that repeats the id of a destructive operation, once the person has confirmed it. */
const CONFIRM_HEADER = 'x-svc-confirm'

export interface CallDoorParts {
  readonly kernel: KernelPort
  readonly readOnly: boolean
  readonly log: Logger
}

/** The only way in which a page of the console calls operations. */
export class CallDoor {
  readonly #parts: CallDoorParts

  constructor(parts: CallDoorParts) {
    this.#parts = parts
  }

  /** Returns an operation of the serving generation. Throws `DSH_OPERATION_UNKNOWN`. */
  find(id: string): OperationEntry {
    const entry = this.#parts.kernel.current.operations.get(id)
    if (entry !== undefined) return entry
    throw dashboardErrors.create('DSH_OPERATION_UNKNOWN', `the serving generation has no operation ${id}`, {
      hint: 'svc plugins list shows whether its plugin runs'
    })
  }

  /** Handles `POST /ui/api/call/:operation`. The body is the input, or empty for `{}`. */
  handle(exchange: HttpExchange, session: Session): void {
    const { descriptor, unit } = this.find(exchange.params.operation ?? '')
    const { id, effect } = descriptor
    checkMayCall(session.role, this.#parts.readOnly, descriptor)
    if (effect === 'destructive' && exchange.request.headers[CONFIRM_HEADER] !== id)
      throw dashboardErrors.create('DSH_CONFIRM_REQUIRED', `${id} destroys something and needs a confirmation`, {
        hint: `repeat the call with the header ${CONFIRM_HEADER}: ${id}`
      })
    const type = exchange.request.headers['content-type']
    exchange.body(bytes => {
      if (bytes.length > 0 && !isJsonMediaType(type))
        throw httpBodyErrors.create('HTTP_MEDIA_TYPE', 'the input of a call is not sent as JSON', {
          hint: 'send it with content-type: application/json'
        })
      const input = parseJsonBody(bytes) ?? {}
      if (effect !== 'read') this.#audit(id, unit.name, session, exchange.caller.requestId)
      void (wantsEvents(exchange)
        ? this.#stream(id, input, exchange, session)
        : this.#answer(id, input, exchange, session))
    })
  }

  /** Leaves a line for each call that may change something. Inputs may be secret and are left out. */
  #audit(operation: string, plugin: string, { id, role }: Session, requestId: string): void {
    this.#parts.log.info(`${operation} was called in the console`, {
      operation,
      called_plugin: plugin,
      session: id,
      role,
      request_id: requestId
    })
  }

  async #answer(id: string, input: unknown, exchange: HttpExchange, session: Session): Promise<void> {
    try {
      const output = await this.#invoke(id, input, exchange, session)
      exchange.send(200, 'application/json; charset=utf-8', JSON.stringify(output ?? null))
    } catch (error) {
      exchange.fail(error)
    }
  }

  async #stream(id: string, input: unknown, exchange: HttpExchange, session: Session): Promise<void> {
    const stream = new EventStream(exchange)
    // Validation and authorisation fail within this tick, and such errors have a status; then the stream opens.
    const opening = setImmediate(() => stream.open())
    try {
      const output = await this.#invoke(id, input, exchange, session, {
        onEvent: event => stream.send('event', event),
        onProgress: (done, total, message) => stream.send('progress', { done, total, message })
      })
      stream.send('result', output)
    } catch (error) {
      if (!stream.isOpen) {
        exchange.fail(error)
        return
      }
      exchange.caller.recordError?.(isSvcError(error) ? error.code : 'HTTP_INTERNAL')
      stream.send('error', this.#shownError(error, exchange.caller.requestId))
    } finally {
      clearImmediate(opening)
      if (stream.isOpen) stream.end()
    }
  }

  #invoke(
    id: string,
    input: unknown,
    { caller }: HttpExchange,
    { id: session, role }: Session,
    listeners: Pick<Parameters<KernelPort['invoke']>[2], 'onEvent' | 'onProgress'> = {}
  ): Promise<unknown> {
    const { requestId, traceparent, signal } = caller
    return this.#parts.kernel.invoke(id, input, {
      surface: SURFACE,
      principal: principalOf(session, role),
      requestId,
      signal,
      ...defined({ traceparent }),
      ...listeners
    })
  }

  #shownError(error: unknown, requestId: string): object {
    if (!isSvcError(error)) {
      this.#parts.log.error('a request failed', { error, request_id: requestId })
      return { code: 'HTTP_INTERNAL', message: 'the call failed inside the server', request_id: requestId }
    }
    const { code, message, hint, data } = error
    return { ...defined({ code, message, hint, data }), request_id: requestId }
  }
}
