import type { Socket } from 'node:net'
import type { FinishedAccess, ObservabilitySink } from '@svc/contracts'
import { type Logger, type Ref, requestIdOf, spanIdOf, traceIdOf, unixMs } from '@svc/plugin-sdk'
import type { Exchange } from './exchange.ts'
import type { Settings } from './settings.ts'

// Sockets outlive a reload of this plugin: old and new code must use the same property.
const SENT = Symbol.for('svc.http.sent')
type Counted = Socket & { [SENT]?: number }

export interface AccessLogParts {
  readonly settings: Pick<Settings, 'access_log' | 'slow_ms'>
  readonly log: Logger
  readonly sink: Ref<ObservabilitySink> | undefined
}

/** Records each request, and logs those selected by the settings. */
export class AccessLog {
  readonly #parts: AccessLogParts

  constructor(parts: AccessLogParts) {
    this.#parts = parts
  }

  record(listener: string, exchange: Exchange, status: number, ms: number): void {
    const sink = this.#parts.sink?.available
    const isLogged = this.#isLogged(status, ms)
    if (sink === undefined && !isLogged) return
    const record = recordOf(listener, exchange, status, ms)
    sink?.request(record)
    if (isLogged) this.#log(record)
  }

  #isLogged(status: number, ms: number): boolean {
    const { access_log, slow_ms } = this.#parts.settings
    return access_log === 'all' || (access_log === 'errors' && (status >= 400 || ms > slow_ms))
  }

  #log(record: FinishedAccess): void {
    const { log } = this.#parts
    if (record.status >= 500) log.error('request', fieldsOf(record))
    else log.info('request', fieldsOf(record))
  }
}

/** Returns the fields of the log line. A literal: copying the record field by field costs more than writing the line. */
function fieldsOf(record: FinishedAccess): Record<string, unknown> {
  const { span } = record
  return {
    request_id: requestIdOf(span.requestName),
    trace_id: traceIdOf(span.traceRoot),
    span_id: spanIdOf(span.spanNumber),
    parent_span_id: span.parentSpan === null ? undefined : spanIdOf(span.parentSpan),
    listener: record.listener,
    method: record.method,
    route: record.route ?? undefined,
    path: record.path,
    status: record.status,
    ms: Math.round(record.ms * 10) / 10,
    bytes: record.bytes,
    operation: record.operation ?? undefined,
    principal: record.principal,
    error_code: record.error_code ?? undefined,
    served_by: record.plugin ?? undefined
  }
}

function recordOf(listener: string, exchange: Exchange, status: number, ms: number): FinishedAccess {
  const { route } = exchange
  return {
    span: exchange,
    time: unixMs(),
    listener,
    method: exchange.request.method as string,
    route: route?.path ?? null,
    path: exchange.path,
    status,
    ms,
    bytes: takeSent(exchange.request.socket),
    plugin: route?.owner ?? null,
    operation: route?.operation?.entry.descriptor.id ?? null,
    principal: exchange.principal.id,
    error_code: exchange.errorCode
  }
}

/** Bytes written to the socket since the last call. */
function takeSent(socket: Counted): number {
  const total = socket.bytesWritten
  const bytes = total - (socket[SENT] ?? 0)
  socket[SENT] = total
  return bytes
}
