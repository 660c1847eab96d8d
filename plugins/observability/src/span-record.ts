import {
  type Access,
  type AccessRecord,
  accessRecordOf,
  type FinishedAccess,
  type ObservedCall,
  type SpanAttributes,
  type SpanRecord
} from '@svc/contracts'
import {
  isSvcError,
  type LocalSpan,
  type OperationDescriptor,
  requestIdOf,
  spanIdOf,
  traceIdOf,
  unixMs
} from '@svc/plugin-sdk'

type Writable<A> = { -readonly [K in keyof A]: A[K] }

/** Fields of a span's ids, which are texts only if they come from outside; see {@link LocalSpan}. */
type Ids = Omit<LocalSpan, 'sampled' | 'spanNumber'> & { readonly spanNumber: number | string }

/** A stored request. Its fields are overwritten by a later one. */
export type StoredRequest = Writable<Access & Omit<LocalSpan, 'sampled'>>

/** A stored span of any kind, as one shape. Its fields are overwritten by a later one. */
export interface StoredSpan extends Writable<Ids> {
  kind: SpanRecord['kind']
  /** Operation, name of the step, or method of the request. */
  name: string
  /** Route of a request; null if none matched. */
  route: string | null
  /** Path of a request. */
  path: string
  plugin: string | null
  /** When it ended, in Unix milliseconds. */
  ended: number
  ms: number
  error: string | null
  /** Status of a request, else 0. */
  status: number
  /** Surface of an operation. */
  surface: string
  /** Attributes of a step. */
  attributes: SpanAttributes | null
}

export function emptyRequest(): StoredRequest {
  return {
    spanNumber: 0,
    traceRoot: 0,
    parentSpan: null,
    requestName: 0,
    time: 0.5,
    listener: '',
    method: '',
    route: null,
    path: '',
    status: 0,
    ms: 0.5,
    bytes: 0,
    plugin: null,
    operation: null,
    principal: '',
    error_code: null
  }
}

export function emptySpan(): StoredSpan {
  return {
    kind: 'step',
    spanNumber: 0,
    traceRoot: 0,
    parentSpan: null,
    requestName: 0,
    name: '',
    route: null,
    path: '',
    plugin: null,
    ended: 0.5,
    ms: 0.5,
    error: null,
    status: 0,
    surface: '',
    attributes: null
  }
}

// Field by field: a copy with a spread allocates an object, and is many times slower.
export function fillRequest(slot: StoredRequest, access: FinishedAccess, path: string): void {
  const { span } = access
  slot.spanNumber = span.spanNumber
  slot.traceRoot = span.traceRoot
  slot.parentSpan = span.parentSpan
  slot.requestName = span.requestName
  slot.time = access.time
  slot.listener = access.listener
  slot.method = access.method
  slot.route = access.route
  // A path that equals its route is not kept a second time.
  slot.path = path === access.route ? access.route : path
  slot.status = access.status
  slot.ms = access.ms
  slot.bytes = access.bytes
  slot.plugin = access.plugin
  slot.operation = access.operation
  slot.principal = access.principal
  slot.error_code = access.error_code
}

export function fillFromRequest(slot: StoredSpan, request: StoredRequest): void {
  slot.kind = 'request'
  slot.spanNumber = request.spanNumber
  slot.traceRoot = request.traceRoot
  slot.parentSpan = request.parentSpan
  slot.requestName = request.requestName
  slot.name = request.method
  slot.route = request.route
  slot.path = request.path
  slot.plugin = request.plugin
  slot.ended = request.time
  slot.ms = request.ms
  slot.error = request.error_code
  slot.status = request.status
  slot.surface = ''
  slot.attributes = null
}

export function fillFromCall(
  slot: StoredSpan,
  call: ObservedCall,
  operation: OperationDescriptor,
  plugin: string,
  ms: number,
  error: unknown
): void {
  slot.kind = 'operation'
  slot.spanNumber = call.spanNumber
  slot.traceRoot = call.traceRoot
  slot.parentSpan = call.parentSpan
  slot.requestName = call.requestName
  slot.name = operation.id
  slot.route = null
  slot.path = ''
  slot.plugin = plugin
  slot.ended = unixMs()
  slot.ms = ms
  slot.error = error === undefined ? null : isSvcError(error) ? error.code : 'OPR_FAILED'
  slot.status = 0
  slot.surface = call.surface
  slot.attributes = null
}

/** Maximum length of a text in a step: 20,000 of them stay in memory. */
const MAX_TEXT_CHARS = 4_000

/** Returns a step without secrets in its texts, which plugins, programs and clients write. `mask` hides known secrets. */
export function shownStep(span: SpanRecord, mask: (text: string) => string): SpanRecord {
  const shown = (text: string): string => {
    const masked = mask(text)
    return masked.length > MAX_TEXT_CHARS ? `${masked.slice(0, MAX_TEXT_CHARS)}…` : masked
  }
  const attributes = Object.entries(span.attributes).map(([key, value]): [string, SpanAttributes[string]] => [
    key,
    typeof value === 'string' ? shown(value) : value
  ])
  return {
    ...span,
    name: shown(span.name),
    error: span.error === null ? null : shown(span.error),
    attributes: Object.fromEntries(attributes)
  }
}

/** Stores a step. One that belongs to no request has the empty text as its name. */
export function fillFromStep(slot: StoredSpan, span: SpanRecord): void {
  slot.kind = span.kind
  slot.spanNumber = span.span_id
  slot.traceRoot = span.trace_id
  slot.parentSpan = span.parent_id
  slot.requestName = span.request_id ?? ''
  slot.name = span.name
  slot.route = null
  slot.path = ''
  slot.plugin = span.plugin
  slot.ended = span.start + span.ms
  slot.ms = span.ms
  slot.error = span.error
  slot.status = 0
  slot.surface = ''
  slot.attributes = span.attributes
}

/** Returns a copy of a stored request, as others see it. */
export function toRecord(stored: StoredRequest): AccessRecord {
  const { spanNumber, traceRoot, parentSpan, requestName, ...access } = stored
  return accessRecordOf({ ...access, span: { spanNumber, traceRoot, parentSpan, requestName, sampled: false } })
}

/** Returns a copy of a stored span, as others see it. */
export function toSpan(stored: StoredSpan): SpanRecord {
  const { kind, name, route, path, plugin, ended, ms, error, status, surface, parentSpan, requestName } = stored
  const isRequest = kind === 'request'
  return {
    trace_id: traceIdOf(stored.traceRoot),
    span_id: spanIdOf(stored.spanNumber),
    parent_id: parentSpan === null ? null : spanIdOf(parentSpan),
    request_id: requestName === '' ? null : requestIdOf(requestName),
    name: isRequest ? `${name} ${route ?? path}` : name,
    kind,
    plugin,
    start: ended - ms,
    ms,
    error: error ?? (isRequest && status >= 500 ? String(status) : null),
    attributes: stored.attributes ?? (isRequest ? requestAttributes(stored) : { 'svc.surface': surface })
  }
}

function requestAttributes({ name, route, path, status }: StoredSpan): SpanAttributes {
  return {
    'http.request.method': name,
    'http.response.status_code': status,
    'url.path': path,
    ...(route === null ? {} : { 'http.route': route })
  }
}
