import type { Socket } from 'node:net'
import type { AccessRecord, ObservabilitySink } from '@svc/contracts'
import { type Logger, type Ref, unixMs } from '@svc/plugin-sdk'
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

  #log(record: AccessRecord): void {
    const { log } = this.#parts
    if (record.status >= 500) log.error('request', fieldsOf(record))
    else log.info('request', fieldsOf(record))
  }
}

/** Returns the fields of the log line. Literals: copying the record field by field costs more than writing the line. */
function fieldsOf(record: AccessRecord): Record<string, unknown> {
  return {
    request_id: record.request_id,
    trace_id: record.trace_id ?? undefined,
    span_id: record.span_id ?? undefined,
    parent_span_id: record.parent_span_id ?? undefined,
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

function recordOf(listener: string, exchange: Exchange, status: number, ms: number): AccessRecord {
  const { request, requestId, trace, route, principal, errorCode } = exchange
  return {
    time: unixMs(),
    request_id: requestId,
    trace_id: trace.traceId,
    span_id: trace.spanId,
    parent_span_id: trace.parentSpanId,
    listener,
    method: request.method as string,
    route: route?.path ?? null,
    path: exchange.path,
    status,
    ms,
    bytes: takeSent(request.socket),
    plugin: route?.owner ?? null,
    operation: route?.operation?.entry.descriptor.id ?? null,
    principal: principal.id,
    error_code: errorCode
  }
}

/** Bytes written to the socket since the last call. */
function takeSent(socket: Counted): number {
  const total = socket.bytesWritten
  const bytes = total - (socket[SENT] ?? 0)
  socket[SENT] = total
  return bytes
}
